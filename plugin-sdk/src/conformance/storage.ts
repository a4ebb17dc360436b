import type { UserFiles } from '../contracts/files.ts'
import type { StorageBackend } from '../contracts/storage.ts'
import { type ConformanceTest, checksOf } from './conformance-test.ts'
import { atomicMoveChecks } from './storage/atomic-moves.ts'
import { committingChecks } from './storage/committing.ts'
import { concurrencyChecks } from './storage/concurrency.ts'
import { conditionChecks } from './storage/conditions.ts'
import { depthChecks } from './storage/depth.ts'
import { freeSpaceChecks } from './storage/free-space.ts'
import { lifecycleChecks, reopeningChecks } from './storage/lifecycle.ts'
import { listingChecks } from './storage/listing.ts'
import { movingChecks } from './storage/moving.ts'
import { readingChecks } from './storage/reading.ts'
import { emptyRemovalChecks, removalChecks } from './storage/removal.ts'
import { snapshotChecks } from './storage/snapshots.ts'
import type { StorageCheck } from './storage/subject.ts'
import { writingChecks } from './storage/writing.ts'

export type { ConformanceTest }

/** The backend that the suite tests. The suite reads its abilities from `supports`. */
export interface StorageHarness {
  /** Makes an empty backend. Called once for each test; the suite closes the backend. */
  create(): Promise<StorageBackend>
  /** Removes the leftovers of a test, after its backend was closed. */
  destroy?(closed: StorageBackend): Promise<void>
  /** Opens the files of a closed backend again. For backends that keep their files after the close. */
  reopen?(closed: StorageBackend): Promise<StorageBackend>
  /** Makes an empty backend for at most 1 MiB of content. For backends that can be limited. */
  createSmall?(): Promise<StorageBackend>
}

/** The view of files that the suite tests. */
export interface FilesHarness {
  /** Makes the view of a user without files. Called once for each test. */
  create(): Promise<UserFiles>
  /** Removes the leftovers of a test. */
  destroy?(files: UserFiles): Promise<void>
}

/**
 * Registers the tests that every storage backend has to pass. The suite works with any test runner: it registers its
 * tests with the given function.
 *
 * @example
 * import { test } from 'node:test'
 * storageConformance(test, { create: async () => new AcmeBackend(await emptyBucket()) })
 */
export function storageConformance(test: ConformanceTest, harness: StorageHarness): void {
  const register = (create: () => Promise<StorageBackend>) =>
    checksOf(test, create, async (backend) => {
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
  reopeningChecks(check, harness.reopen)
  const skipFreeSpace: typeof check = (name) =>
    check(name, async (_backend, skip) => skip('The harness has no "createSmall".'))
  freeSpaceChecks(harness.createSmall ? register(harness.createSmall) : skipFreeSpace)
}

/**
 * Registers the tests that a view of a user's files has to pass: those of the methods that it shares with a backend. The
 * promises of a backend have to hold for users of `Files` too.
 */
export function filesConformance(test: ConformanceTest, harness: FilesHarness): void {
  sharedChecks(checksOf(test, harness.create, async (files) => harness.destroy?.(files)))
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
