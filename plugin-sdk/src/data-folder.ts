/**
 * The data folder of a node, for the kernel and for programs beside it: its lock, its reserve of space, and its databases. It needs
 * nothing but Node.
 */
export { lockFile } from './concurrency/lock-file.ts'
export { type DatabaseFile, findDatabases, preparePluginDatabase } from './data-folder/databases.ts'
export { isBusy, isDamage, isDiskFull, resultCode, resultCodes } from './data-folder/disk-failures.ts'
export {
  diskSpace,
  makeReserve,
  releaseForDeletions,
  releaseReserve,
  withReserve,
} from './data-folder/disk-reserve.ts'
export { type DataLock, type LockHolder, lockDataFolder, lockHolder } from './data-folder/lock.ts'
export { openFailure } from './data-folder/open-failure.ts'
export { makePrivateFolder, preparePrivateFile } from './data-folder/private-folder.ts'
export { inTransaction } from './in-transaction.ts'
