import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { isNodekeepError, messageOf } from '@nodekeep/plugin-sdk'
import { CID } from 'multiformats/cid'
import type { IndexedBlock } from './block-index.ts'
import { type DamagedContent, pathsOfDamage } from './damaged-content.ts'
import { packName } from './pack-format.ts'
import { DamagedBlock, type StoreView } from './store-view.ts'

/** Blocks of which the rows are read at once. */
const listedAtOnce = 100

interface Checked {
  readonly pack: number
  readonly position: number
  readonly damaged: CID | null
}

export interface VerifyOptions {
  readonly signal?: AbortSignal
  /** Gets the bytes of blocks that were read, and all bytes of blocks at the begin. */
  readonly onProgress?: (bytes: number, of: number) => void
}

export interface VerifyResult {
  readonly blocks: number
  readonly bytes: number
  readonly damaged: readonly DamagedContent[]
}

/** Reads blocks of a store, and compares them with their CIDs. */
export class BlockVerification {
  readonly #view: StoreView
  readonly #folder: string
  /** How far the newest pack was verified, and a damaged block that was found. */
  #checked: Checked = { pack: 0, position: 0, damaged: null }

  /** @param folder of the packs */
  constructor(view: StoreView, folder: string) {
    this.#view = view
    this.#folder = folder
  }

  /** As `Store.verify`. */
  async verify({ signal, onProgress }: VerifyOptions): Promise<VerifyResult> {
    const { of } = this.#view.connection
      .prepare('SELECT coalesce(sum(length), 0) AS of FROM block')
      .get() as { of: number }
    let blocks = 0
    let bytes = 0
    // Rows that a lost index could not get back have no bytes.
    const lost = this.#view.connection.prepare('SELECT cid FROM block WHERE pack = 0').all()
    const damaged = lost.map(({ cid }) => CID.decode(cid as Uint8Array))
    for await (const { cid, length, isDamaged } of this.#verified({ pack: 0, position: 0 })) {
      signal?.throwIfAborted()
      blocks += 1
      bytes += length
      if (isDamaged) damaged.push(cid)
      onProgress?.(bytes, Math.max(of, bytes))
    }
    return { blocks, bytes, damaged: await pathsOfDamage(this.#view, damaged, signal) }
  }

  /** As `Store.check`, of an open store. */
  async check(): Promise<string | null> {
    try {
      const packs = this.#view.connection.prepare('SELECT number, length FROM pack ORDER BY number').all()
      for (const { number, length } of packs) {
        const file = join(this.#folder, packName(Number(number)))
        const size = (await stat(file).catch(() => null))?.size ?? 0
        // The pack may have been rewritten since the look at the index.
        if (size < Number(length) && this.#hasPack(number))
          return `${file} has only ${size} of its ${length} bytes.`
      }
      const newest = Number(packs.at(-1)?.number ?? 0)
      const { damaged } = this.#checked
      // A block that was put again is whole.
      const isRepaired = damaged !== null && !(await this.#isDamaged(damaged))
      if (newest > this.#checked.pack || isRepaired)
        this.#checked = { pack: newest, position: 0, damaged: null }
      for await (const { cid, pack, position, isDamaged } of this.#verified(this.#checked))
        this.#checked = { pack, position, damaged: isDamaged ? cid : this.#checked.damaged }
      return this.#checked.damaged && `The block ${this.#checked.damaged} is damaged.`
    } catch (error) {
      return `The index cannot be read: ${messageOf(error)}.`
    }
  }

  /** Yields the blocks behind a place, in the order of the packs. */
  async *#verified({ pack, position }: { readonly pack: number; readonly position: number }) {
    const listed = this.#view.connection.prepare(
      'SELECT cid, pack, position, length FROM block WHERE (pack, position) > (?, ?) ORDER BY pack, position LIMIT ?',
    )
    for (let last = { pack, position }; ; ) {
      const blocks = listed.all(last.pack, last.position, listedAtOnce) as unknown as IndexedBlock[]
      for (const { cid: key, ...place } of blocks) {
        const cid = CID.decode(key)
        yield { cid, ...place, isDamaged: await this.#isDamaged(cid) }
        last = place
      }
      if (blocks.length < listedAtOnce) return
      await setImmediate()
    }
  }

  async #isDamaged(cid: CID): Promise<boolean> {
    try {
      await this.#view.get(cid)
      return false
    } catch (error) {
      if (error instanceof DamagedBlock) return true
      // The block was removed.
      if (isNodekeepError(error)) return false
      throw error
    }
  }

  #hasPack(number: unknown): boolean {
    const select = 'SELECT 1 FROM pack WHERE number = ?'
    return this.#view.connection.prepare(select).get(Number(number)) !== undefined
  }
}
