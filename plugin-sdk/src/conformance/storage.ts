import type { UserFiles } from '../contracts/files.ts'
import type { StorageBackend } from '../contracts/storage.ts'
import type { ConformanceTest } from './conformance-test.ts'
import { atomicMoveChecks } from './storage/atomic-moves.ts'
import { committingChecks } from './storage/committing.ts'
import { concurrencyChecks } from './storage/concurrency.ts'
import { conditionChecks } from './storage/conditions.ts'
import { depthChecks } from './storage/depth.ts'
import { lifecycleChecks, reopeningChecks } from './storage/lifecycle.ts'
import { listingChecks } from './storage/listing.ts'
import { movingChecks } from './storage/moving.ts'
import { readingChecks } from './storage/reading.ts'
import { emptyRemovalChecks, removalChecks } from './storage/removal.ts'
import { roomChecks } from './storage/room.ts'
import { snapshotChecks } from './storage/snapshots.ts'
import type { StorageCheck, StorageView } from './storage/subject.ts'
import { writingChecks } from './storage/writing.ts'

export type { ConformanceTest }

/** What a backend's author tells the suite. What the backend can do, the suite reads from `supports`. */
export interface StorageHarness {
  /** Makes a backend with nothing in it. Called once for each test; the suite closes it. */
  create(): Promise<StorageBackend>
  /** Takes away what a test left behind, after its backend was closed. */
  destroy?(closed: StorageBackend): Promise<void>
  /** Opens again what a closed backend kept, for backends that keep files beyond their own life. */
  reopen?(closed: StorageBackend): Promise<StorageBackend>
  /** Makes an empty backend with room for 1 MiB of content, for backends that can be given less than they want. */
  createSmall?(): Promise<StorageBackend>
}

/** What the author of a view of files tells the suite. */
export interface FilesHarness {
  /** Makes the view of a user who has no files. Called once for each test. */
  create(): Promise<UserFiles>
  /** Takes away what a test left behind. */
  destroy?(files: UserFiles): Promise<void>
}

/**
 * The tests that every storage backend has to pass. The suite knows no test runner: it registers its tests with the
 * function that it is given.
 *
 * @example
 * import { test } from 'node:test'
 * storageConformance(test, { create: async () => new AcmeBackend(await emptyBucket()) })
 */
export function storageConformance(test: ConformanceTest, harness: StorageHarness): void {
  const register = (create: () => Promise<StorageBackend>) =>
    registering(test, create, async (backend) => {
      await backend.close()
      await harness.destroy?.(backend)
    })
  const check = register(harness.create)
  sharedChecks(check)
  emptyRemovalChecks(check)
  depthChecks(check)
  committingChecks(check)
  atomicMoveChecks(check)
  lifecycleChecks(check)
  snapshotChecks(check)
  if (harness.reopen) reopeningChecks(check, harness.reopen)
  if (harness.createSmall) roomChecks(register(harness.createSmall))
}

/**
 * Holds the view of a user's files to what a backend is held to, as far as the two have it in common: what is true of
 * a backend must stay true for those who reach it through `Files`.
 */
export function filesConformance(test: ConformanceTest, harness: FilesHarness): void {
  sharedChecks(registering(test, harness.create, async (files) => harness.destroy?.(files)))
}

function sharedChecks(check: StorageCheck): void {
  writingChecks(check)
  readingChecks(check)
  listingChecks(check)
  conditionChecks(check)
  removalChecks(check)
  movingChecks(check)
  concurrencyChecks(check)
}

function registering<Subject extends StorageView>(
  test: ConformanceTest,
  create: () => Promise<Subject>,
  destroy: (subject: Subject) => Promise<void>,
): StorageCheck<Subject> {
  return (name, run) => {
    test(name, async () => {
      const subject = await create()
      try {
        await run(subject)
      } finally {
        await destroy(subject)
      }
    })
  }
}
