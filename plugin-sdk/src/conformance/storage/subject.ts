import type { FileReading } from '../../contracts/files.ts'
import type {
  StorageBackend,
  StorageConditions,
  StorageEntry,
  StorageListEntry,
  StorageListOptions,
  StorageReadOptions,
} from '../../contracts/storage.ts'
import type { ConformanceCheck } from '../conformance-test.ts'

/** The methods that a backend and the view of a user's files have in common. */
export interface StorageView {
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
  move(source: string, destination: string, options?: { readonly overwrite?: boolean }): Promise<unknown>
}

/** Registers one test, which gets an empty storage of its own. */
export type StorageCheck<Subject extends StorageView = StorageView> = ConformanceCheck<Subject>

/** Registers one test for backends only. */
export type BackendCheck = StorageCheck<StorageBackend>
