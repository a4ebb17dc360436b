import { existsSync } from 'node:fs'
import type { Store } from './store.ts'

/** Bytes from which on a pack gets no more blocks. */
const packBytes = 256 * 1024 * 1024

/**
 * The store of the plugin, which is opened at its first use: a node that has no blocks pays neither for the libraries nor for the
 * thread.
 */
export class LazyStore {
  readonly #folder: string
  readonly #makeFile: () => string
  readonly #existed: boolean
  #opened: Promise<Store> | null = null
  #isClosed = false

  /**
   * @param folder of the packs
   * @param makeFile returns the path of the index, which it makes if there is none
   */
  constructor(folder: string, makeFile: () => string) {
    this.#folder = folder
    this.#existed = existsSync(folder)
    this.#makeFile = makeFile
  }

  /** Whether anything was ever stored. */
  get isUsed(): boolean {
    return this.#existed || this.#opened !== null
  }

  /** @throws Error with one line for a person if the store cannot be opened; the next call tries again */
  open(): Promise<Store> {
    if (this.#isClosed) return Promise.reject(new Error('The plugin has stopped.'))
    this.#opened ??= this.#open().catch((error) => {
      this.#opened = null
      throw error
    })
    return this.#opened
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await (await this.#opened?.catch(() => null))?.close()
  }

  async #open(): Promise<Store> {
    const { Store } = await import('./store.ts')
    return Store.open({ file: this.#makeFile(), folder: this.#folder, packBytes })
  }
}
