import type { CID } from 'multiformats/cid'
import type { StoreSession } from '../store/store.ts'

/** Blocks of at most 1 MiB that wait for the thread, so that it writes while the next ones are hashed. */
const mostWaiting = 8

/** Blocks that are put into a session, some of them at a time. They arrive in the order of the calls. */
export class BlockBacklog {
  readonly #session: Pick<StoreSession, 'put'>
  readonly #waiting = new Set<Promise<void>>()
  #failure: { readonly reason: unknown } | null = null

  constructor(session: Pick<StoreSession, 'put'>) {
    this.#session = session
  }

  /**
   * Puts a block. Resolves when the next one may follow.
   *
   * @throws the error of this block or of one before
   */
  async put(cid: CID, bytes: Uint8Array): Promise<void> {
    const stored = this.#session
      .put(cid, bytes)
      .catch((reason) => {
        this.#failure ??= { reason }
      })
      .finally(() => this.#waiting.delete(stored))
    this.#waiting.add(stored)
    if (this.#waiting.size >= mostWaiting) await Promise.race(this.#waiting)
    if (this.#failure !== null) throw this.#failure.reason
  }

  /** Resolves when all blocks are stored. @throws the error of one of them */
  async end(): Promise<void> {
    await Promise.all(this.#waiting)
    if (this.#failure !== null) throw this.#failure.reason
  }
}
