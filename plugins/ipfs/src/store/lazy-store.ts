import { existsSync } from 'node:fs'
import { type Log, NodekeepError } from '@nodekeep/plugin-sdk'
import type { Store } from './store.ts'

/** Bytes from which on a pack gets no more blocks. */
const packBytes = 256 * 1024 * 1024

/** Milliseconds between two records of the tree. */
const recordEveryMs = 60 * 60 * 1000

/**
 * The store of the plugin, which is opened at its first use: a node that has no blocks pays neither for the libraries nor for the
 * thread.
 */
export class LazyStore {
  readonly #folder: string
  readonly #makeFile: () => string
  readonly #log: Pick<Log, 'info' | 'warn'>
  #opening: Promise<Store> | null = null
  #store: Store | null = null
  /** The progress of making a lost index again, as a part of 1; null if the opening does not do that. */
  #rebuilt: number | null = null
  #isClosed = false

  /**
   * @param folder of the packs
   * @param makeFile returns the path of the index, which it makes if there is none
   */
  constructor(folder: string, makeFile: () => string, log: Pick<Log, 'info' | 'warn'>) {
    this.#folder = folder
    this.#makeFile = makeFile
    this.#log = log
  }

  /** Whether anything was ever stored. */
  get isUsed(): boolean {
    return this.#opening !== null || existsSync(this.#folder)
  }

  /**
   * Returns the store. Do not keep it: after an error of the disk, the next call opens it anew.
   *
   * @throws Error with one line for a person if the store cannot be opened; the next call tries again. NodekeepError
   *   SERVICE_UNAVAILABLE while a lost index is made again
   */
  async open(): Promise<Store> {
    if (this.#isClosed) throw new Error('The plugin has stopped.')
    if (this.#store?.isOpen) return this.#store
    this.#opening ??= this.#open().finally(() => {
      this.#opening = null
      this.#rebuilt = null
    })
    if (this.#rebuilt !== null) throw beingRebuilt(this.#rebuilt)
    return this.#opening
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#opening?.catch(() => null)
    await this.#store?.close()
  }

  async #open(): Promise<Store> {
    // A failed store still has files open.
    await this.#store?.close()
    const { Store } = await import('./store.ts')
    this.#store = await Store.open({
      file: this.#makeFile(),
      folder: this.#folder,
      packBytes,
      recordEveryMs,
      log: this.#log,
      onRebuild: (progress) => {
        this.#rebuilt = progress
      },
    })
    return this.#store
  }
}

function beingRebuilt(progress: number): NodekeepError {
  const percent = Math.floor(100 * progress)
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    `The index of the store of blocks was lost, and is being made again: ${percent} %. Try again later.`,
  )
}
