import {
  isNodekeepError,
  NodekeepError,
  nameOf,
  type StorageDriver,
  type StorageDriverListOptions,
  type StorageDriverReading,
  type StorageDriverReadOptions,
  type StorageEntry,
} from '@nodekeep/plugin-sdk'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { Entries } from '../entries/entries.ts'
import { type HeldBlock, holdBlock } from '../store/held-block.ts'
import type { Store } from '../store/store.ts'
import { DamagedBlock, type StoreView } from '../store/store-view.ts'
import { Turns } from '../turns.ts'
import { fileContent } from '../unixfs/file-blocks.ts'

const mebibyte = 1024 * 1024

/** The files of the backend for reading, as they are or as they were at one moment. */
export class StoredFiles implements Pick<StorageDriver, 'stat' | 'list' | 'open'> {
  readonly entries: Entries
  readonly #view: StoreView
  readonly #store: Store | null
  /** Looks at the index are synchronous. */
  readonly #turns = new Turns()

  /** @param store holds what is read; null if nothing that the view shows is ever removed */
  constructor(view: StoreView, store: Store | null) {
    this.#view = view
    this.#store = store
    this.entries = new Entries(view.connection)
  }

  async stat(path: string): Promise<StorageEntry> {
    await this.#turns.give()
    return this.entries.get(path).entry
  }

  async *list(
    path: string,
    { after }: Pick<StorageDriverListOptions, 'after'>,
  ): AsyncGenerator<StorageEntry, void, undefined> {
    for (const page of this.entries.list(path, after)) {
      await this.#turns.give()
      yield* page
    }
  }

  async open(path: string, range: StorageDriverReadOptions): Promise<StorageDriverReading> {
    for (;;) {
      await this.#turns.give()
      const { entry, root } = this.entries.get(path)
      if (root === null) return { entry, content: new Uint8Array(0), start: 0 }
      const cid = CID.decode(root)
      try {
        if (cid.code === raw.code) return { entry, content: await this.#view.get(cid), start: 0 }
        return { entry, content: this.#content(path, cid, await this.#held(cid, range), entry.size, range) }
      } catch (error) {
        // The file was replaced or removed after the look at it, and then its blocks.
        const isGone = isNodekeepError(error) && error.code === 'NOT_FOUND'
        if (isGone && this.entries.find(path)?.entry.revision !== entry.revision) continue
        throw damageOf(path, error)
      }
    }
  }

  async *#content(
    path: string,
    root: CID,
    held: HeldBlock | undefined,
    size: number,
    { start, end = size - 1 }: StorageDriverReadOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* fileContent(this.#reader(), root, { start, end: Math.min(end, size - 1) })
    } catch (error) {
      throw damageOf(path, error)
    } finally {
      held?.end()
    }
  }

  /**
   * Returns a function that reads blocks. Those with content are in two pieces of memory in turn: the reader asks for a chunk while it
   * passes on the one before. New memory for each takes a third of the CPU time of a large file (MEMORY.md, "Blocks of a reading").
   */
  #reader(): (cid: CID) => Promise<Uint8Array> {
    const memory: Uint8Array<ArrayBuffer>[] = []
    return (cid) => {
      if (cid.code !== raw.code) return this.#view.get(cid)
      const next = (memory.length === 2 && memory.shift()) || new Uint8Array(mebibyte)
      memory.push(next)
      return this.#view.get(cid, next)
    }
  }

  /** Holds a content of several blocks until the end of its reading: its file may be removed meanwhile. */
  async #held(root: CID, { signal }: StorageDriverReadOptions): Promise<HeldBlock | undefined> {
    if (this.#store === null) return undefined
    const held = await holdBlock(this.#store, root)
    if (!signal.aborted) return held
    held.end()
    throw signal.reason
  }
}

/** Returns the error for a reading that found damage, by the name of the file; any other error as it is. */
function damageOf(path: string, error: unknown): unknown {
  const isDamage = error instanceof DamagedBlock || (isNodekeepError(error) && error.code === 'NOT_FOUND')
  if (!isDamage) return error
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    `The bytes of the file "${nameOf(path)}" are damaged on the node's disk. Restore the file from a backup.`,
    { cause: new Error(`${path} cannot be read.`, { cause: error }), permanent: true },
  )
}
