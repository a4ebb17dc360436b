import type { UserFiles } from '../contracts/files.ts'
import type { StorageBackend } from '../contracts/storage.ts'
import { type ConformanceCheck, type ConformanceTest, checksOf } from './conformance-test.ts'
import { atomicFolderChecks } from './storage/atomic-folders.ts'
import { atomicMoveChecks } from './storage/atomic-moves.ts'
import { codeChecks } from './storage/codes.ts'
import { committingChecks } from './storage/committing.ts'
import { concurrencyChecks } from './storage/concurrency.ts'
import { conditionChecks } from './storage/conditions.ts'
import { copyChecks } from './storage/copying.ts'
import { dateChecks } from './storage/dates.ts'
import { depthChecks } from './storage/depth.ts'
import { freeSpaceChecks, spaceChecks } from './storage/free-space.ts'
import { keepingChecks } from './storage/keeping.ts'
import { lifecycleChecks, reopeningChecks } from './storage/lifecycle.ts'
import { listingChecks } from './storage/listing.ts'
import { memoryChecks } from './storage/memory.ts'
import { movingChecks } from './storage/moving.ts'
import { outageChecks, type StorageServer } from './storage/outages.ts'
import { emptyRemovalRaceChecks, raceChecks, writeRaceChecks } from './storage/races.ts'
import { readingChecks } from './storage/reading.ts'
import { emptyRemovalChecks, removalChecks } from './storage/removal.ts'
import { snapshotChecks } from './storage/snapshots.ts'
import type { StorageCheck } from './storage/subject.ts'
import { type OtherProgram, watchChecks } from './storage/watching.ts'
import { writingChecks } from './storage/writing.ts'

export type { ConformanceTest, OtherProgram, StorageServer }

/** The backend that the suite tests. The suite reads its abilities from `supports`. */
export interface StorageHarness {
  /** Makes an empty backend. Called once for each test; the suite closes the backend. */
  create(): Promise<StorageBackend>
  /** Puts the server of the storage out of reach. Null for a storage without a server, such as a disk of the node. */
  readonly server: StorageServer | null
  /** Removes the leftovers of a test, after its backend was closed. */
  destroy?(closed: StorageBackend): Promise<void>
  /** Opens the files of a closed backend again. For backends that keep their files after the close. Without it, tests are skipped. */
  reopen?(closed: StorageBackend): Promise<StorageBackend>
  /** Makes an empty backend for at most 1 MiB of content. For backends that can be limited. Without it, tests are skipped. */
  createSmall?(): Promise<StorageBackend>
  /** Changes the files of a backend as another program does. For backends with `watch`. Without it, tests are skipped. */
  otherProgram?(backend: StorageBackend): OtherProgram
  /**
   * Returns the bytes of content that a server in the process of the tests holds in memory. They do not count as memory of the backend. Null
   * for a storage that keeps its files in memory by design: the test is skipped. By default none: the content is elsewhere.
   */
  readonly bytesInMemory?: ((backend: StorageBackend) => number) | null
  /**
   * The most entries that the storage reads from its server at a time. The suite makes a folder with one entry more. By default 1,000, as many
   * as S3 servers tell. A storage whose pages can be smaller in its tests makes fewer requests.
   */
  readonly pageEntries?: number
}

/** The view of files that the suite tests. */
export interface FilesHarness {
  /** Makes the view of a user without files. Called once for each test. */
  create(): Promise<UserFiles>
  /** Removes the leftovers of a test. */
  destroy?(files: UserFiles): Promise<void>
  /** As that of {@link StorageHarness}. */
  readonly pageEntries?: number
}

/**
 * Registers the tests that every storage backend has to pass. The suite works with any test runner: it registers its
 * tests with the given function.
 *
 * @example
 * import { test } from 'node:test'
 * storageConformance(test, { create: async () => new AcmeBackend(await emptyBucket()), server: acmeServer })
 */
export function storageConformance(test: ConformanceTest, harness: StorageHarness): void {
  const { bytesInMemory = () => 0, create, createSmall, otherProgram, pageEntries, reopen, server } = harness
  const close = async (backend: StorageBackend) => {
    await backend.close()
    await harness.destroy?.(backend)
  }
  const check = checksOf(test, create, close)
  sharedChecks(check, pageEntries)
  codeChecks(check)
  dateChecks(check)
  emptyRemovalChecks(check)
  depthChecks(check)
  committingChecks(check)
  lifecycleChecks(check)
  atomicMoveChecks(check)
  atomicFolderChecks(check)
  copyChecks(check)
  keepingChecks(check)
  snapshotChecks(check)
  outageChecks(check, server)
  memoryChecks(check, bytesInMemory)
  watchChecks(check, otherProgram, reopen)
  spaceChecks(check)
  const racingWrites = checksUnless(check, ({ supports }) =>
    supports.atomicConditions || supports.conditionalWrites
      ? null
      : 'The backend does not check the conditions of writes in the step that makes the file visible.',
  )
  writeRaceChecks(racingWrites)
  const racing = checksUnless(check, ({ supports }) =>
    supports.atomicConditions
      ? null
      : 'The backend does not check conditions in the step that makes the change.',
  )
  raceChecks(racing)
  emptyRemovalRaceChecks(racing)
  reopeningChecks(check, reopen)
  const small = checksOf(test, createSmall ?? create, close)
  freeSpaceChecks(checksUnless(small, () => (createSmall ? null : 'The harness has no "createSmall".')))
}

/**
 * Registers the tests that a view of a user's files has to pass: those of the methods that it shares with a backend. The
 * promises of a backend have to hold for users of `Files` too.
 */
export function filesConformance(test: ConformanceTest, harness: FilesHarness): void {
  const check = checksOf(test, harness.create, async (files) => harness.destroy?.(files))
  sharedChecks(check, harness.pageEntries)
  writeRaceChecks(check)
  raceChecks(check)
}

function sharedChecks(check: StorageCheck, pageEntries = 1000): void {
  writingChecks(check)
  readingChecks(check)
  listingChecks(check, pageEntries)
  conditionChecks(check)
  removalChecks(check)
  movingChecks(check)
  concurrencyChecks(check)
}

/** Skips each test if the function returns a reason. */
function checksUnless<Subject>(
  check: ConformanceCheck<Subject>,
  reasonToSkip: (subject: Subject) => string | null,
): ConformanceCheck<Subject> {
  return (name, run) => {
    check(name, async (subject, skip) => {
      const reason = reasonToSkip(subject)
      if (reason !== null) return skip(reason)
      await run(subject, skip)
    })
  }
}
