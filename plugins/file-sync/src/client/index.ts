/** For authors of clients: keeps a folder of a machine the same as the files of a user on a node. It needs Node, not a browser. */
export { reconcile, type Situation, type Step } from './reconcile.ts'
export { SyncEngine, type SyncStatus } from './sync-engine.ts'
export { SyncFailure, type SyncFailureKind } from './sync-failure.ts'
export { openSyncFolder, type SyncFolder, type SyncFolderOptions } from './sync-folder.ts'
