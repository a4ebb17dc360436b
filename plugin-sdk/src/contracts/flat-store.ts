import type { StorageCapabilities } from './storage.ts'
import type { StorageDriverCallOptions, StorageDriverReadOptions } from './storage-driver.ts'

/** Bytes under a key. */
export interface FlatObject {
  readonly key: string
  /** Bytes. */
  readonly size: number
  /** The time that `put` or `copy` set, or when the object was stored. */
  readonly modified: Date
  /** The time that `put` or `copy` set. Left out where the store does not tell it, such as in pages. */
  readonly created?: Date
  /**
   * The revision that `put` or `copy` set. An object of another program gets one that changes with its content. It is left out in the
   * pages of a store that lists no metadata.
   */
  readonly revision?: string
  /**
   * A text that changes with the content, such as an ETag. Objects of pages without `revision` need it, and a store whose server takes
   * conditions by it: {@link FlatPutOptions.replaces} is an object that `head` has returned.
   */
  readonly etag?: string
}

/** Options of a page. */
export interface FlatPageOptions extends StorageDriverCallOptions {
  /** Whether everything below `prefix` is listed. Otherwise, keys with a further `/` are listed as folders. */
  readonly isDeep: boolean
  /** Only keys that come after this one. It begins with the prefix. */
  readonly after?: string
  /** The `next` of the page before. */
  readonly next?: string
  /** The number of objects and folders that the caller needs. A page may have fewer or more. */
  readonly limit?: number
}

/** A page of the keys that begin with a prefix, in the order of their bytes in UTF-8. */
export interface FlatPage {
  readonly objects: readonly FlatObject[]
  /** The parts of keys up to the first `/` after the prefix, with this `/`, each once. They have their place in the order too. */
  readonly folders: readonly string[]
  /** Where the next page begins, in a form of the store; null for the last page. */
  readonly next: string | null
}

/** An object that is open for reading. */
export interface FlatReading {
  readonly object: FlatObject
  /** The bytes from `start` on, up to `end` or further, of this object and no other. CONFLICT if it is overwritten meanwhile. */
  readonly content: AsyncIterable<Uint8Array> | Uint8Array
  /** The position of the first byte of `content`, if it is before the requested `start`. */
  readonly start?: number
}

/** The facts that a store keeps with an object. */
export interface FlatMetadata {
  /** Visible ASCII. */
  readonly revision: string
  readonly created: Date
  /** Set with `supports.modified` only. By default, the present. */
  readonly modified?: Date
}

/** Options of a new object. */
export interface FlatPutOptions extends FlatMetadata, StorageDriverCallOptions {
  /** The number of bytes, if known. The content has exactly this number, or fails. */
  readonly size?: number
  /**
   * Set with `supports.conditionalWrites`, if the caller has a condition. Null: only if nothing is at the key. An object: only
   * if it is still there. PRECONDITION_FAILED otherwise. It is known from the start, so a request can have it in its headers.
   */
  readonly replaces?: FlatObject | null
  /**
   * Call it once, after the last byte has arrived and right before the step that makes the object visible, and wait for it. If it rejects,
   * drop the bytes and reject. {@link heldBack} does that for a store with one request for an object.
   */
  readonly beforeCommit: () => Promise<void>
}

/** Options of a copy within the store. */
export interface FlatCopyOptions extends FlatMetadata, StorageDriverCallOptions {
  /** The number of bytes that the source had. */
  readonly size: number
  /** Call it once, right before the step that makes the copy visible, and wait for it. If it rejects, make no copy and reject. */
  readonly beforeCommit: () => Promise<void>
}

/**
 * A store of objects under flat keys, such as a bucket of S3, a table or a key-value server. {@link flatDriver} makes a
 * {@link StorageDriver} of it: it finds the folders, their order and their pages, and checks what a write replaces.
 *
 * The key of a file is its path without the first `/`. The key of a folder, with an empty object, ends with `/`. A folder also
 * exists while keys are below it.
 *
 * Limits of time and errors are those of {@link StorageDriver}. A store must not take a failure for an empty answer.
 */
export interface FlatStore {
  /** It may change while the store is used, such as when a server has told what it can. */
  readonly supports: Pick<StorageCapabilities, 'durable' | 'modified' | 'conditionalWrites'>
  /**
   * Lists the keys that begin with a prefix, which need not end with `/`. If the server knows no folders, the store finds them in the keys:
   * after keys of a folder, the next page can begin after the folder and U+10FFFF.
   */
  page(prefix: string, options: FlatPageOptions): Promise<FlatPage>
  /** Returns the object at a key, with its revision; null if there is none. */
  head(key: string, options: StorageDriverCallOptions): Promise<FlatObject | null>
  /** Opens the object at a key, with its revision; null if there is none. */
  get(key: string, options: StorageDriverReadOptions): Promise<FlatReading | null>
  /** Stores an object in one step, in place of the one at its key. If anything fails, it leaves what was there. */
  put(key: string, content: AsyncIterable<Uint8Array>, options: FlatPutOptions): Promise<FlatObject>
  /** Copies an object within the store, as `put` stores one. Leave it out if the store has no such copy. */
  copy?(source: string, key: string, options: FlatCopyOptions): Promise<FlatObject>
  /** As `watch` of a driver. Its hints are paths of files and folders. Leave it out if no other program changes the objects. */
  watch?(listener: (path: string) => void, signal: AbortSignal): Promise<void>
  /** As `storageId` of a driver. */
  storageId?(signal: AbortSignal): Promise<string>
  /** Removes objects, at most as many as a page has. Keys without an object are not an error. */
  delete(keys: readonly string[], options: StorageDriverCallOptions): Promise<void>
  /** Throws if the store cannot work now. */
  probe(signal: AbortSignal): Promise<void>
  /** Releases what the store holds. All calls and readings have ended. */
  close(): Promise<void>
}
