import type { FileReading } from '../../contracts/files.ts'
import type {
  StorageBackend,
  StorageCapabilities,
  StorageConditions,
  StorageEntry,
  StorageListEntry,
  StorageListOptions,
  StorageReadOptions,
} from '../../contracts/storage.ts'
import type { ConformanceCheck } from '../conformance-test.ts'

/** The methods that a backend and the view of a user's files have in common. */
export interface StorageView {
  /** Undefined for the view of a user. */
  readonly supports?: StorageCapabilities
  stat(path: string): Promise<StorageEntry>
  list(path: string, options?: StorageListOptions): AsyncIterable<StorageListEntry>
  read(
    path: string,
    options?: StorageReadOptions,
  ): Promise<Omit<FileReading, 'entry'> & { readonly entry: Omit<StorageEntry, 'created'> }>
  write(
    path: string,
    content: AsyncIterable<Uint8Array>,
    options?: StorageConditions & { readonly size?: number; readonly signal?: AbortSignal },
  ): Promise<StorageEntry>
  makeDirectory(path: string): Promise<unknown>
  remove(path: string, conditions?: Pick<StorageConditions, 'ifRevision'>): Promise<void>
  move?(source: string, destination: string, options?: { readonly overwrite?: boolean }): Promise<unknown>
}

export const noMoves = 'The backend does not move files in one step.'
export const noFolderMoves = 'The backend does not move folders in one step.'

/** A storage that moves files. */
export type Moving<Subject extends StorageView> = Subject & Required<Pick<Subject, 'move'>>

/** Whether the storage moves files. A view of a user always does. */
export function movesFiles<Subject extends StorageView>(storage: Subject): storage is Moving<Subject> {
  return storage.move !== undefined
}

/** Whether the storage moves folders, too. A view of a user always does. */
export function movesFolders<Subject extends StorageView>(storage: Subject): storage is Moving<Subject> {
  return movesFiles(storage) && (storage.supports === undefined || storage.supports.atomicFolders === true)
}

/** Registers one test, which gets an empty storage of its own. */
export type StorageCheck<Subject extends StorageView = StorageView> = ConformanceCheck<Subject>

/** Registers one test for backends only. */
export type BackendCheck = StorageCheck<StorageBackend>
