import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { inTransaction, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { EntryChanges } from '../tree/entry-changes.ts'
import { BlockIndex } from './block-index.ts'
import { HeldBlocks } from './held-blocks.ts'
import { linksOf } from './links.ts'
import { packName } from './pack-format.ts'
import { type BlockPlace, PackWriter } from './pack-writer.ts'
import type { NumberedRequest, StoreAnswer, StoreChange, StoreFailure, StoreRequest } from './protocol.ts'

/** Bytes of blocks that wait for their rows in the index. */
const mostWaitingBytes = 64 * 1024 * 1024

/** Blocks that are removed in one transaction. */
const sweptAtOnce = 500

/** A block that was appended, and has no row yet. */
interface WaitingBlock {
  readonly cid: Uint8Array
  readonly place: BlockPlace
  readonly links: readonly Uint8Array[]
  readonly session: number
}

/**
 * The part of the store that changes it, in the writer thread. The order is: append, sync, commit. So the index never names bytes that
 * a power loss can take, and what a crash leaves behind the recorded length of a pack is cut at the next start.
 */
export class StoreWriter {
  readonly #connection: DatabaseSync
  readonly #folder: string
  readonly #packs: PackWriter
  readonly #blocks: BlockIndex
  readonly #entries: EntryChanges
  readonly #held = new HeldBlocks()
  readonly #waiting = new Map<string, WaitingBlock>()
  #waitingBytes = 0
  /** Lengths of packs that are on the disk, and not in the index yet. */
  readonly #syncedLengths = new Map<number, number>()
  /** The last block at which the sweep looked. */
  #sweptTo: Uint8Array = new Uint8Array(0)

  constructor(connection: DatabaseSync, folder: string, packBytes: number) {
    this.#connection = connection
    this.#folder = folder
    this.#packs = new PackWriter(connection, folder, packBytes)
    this.#blocks = new BlockIndex(connection)
    this.#entries = new EntryChanges(connection, this.#blocks)
  }

  /** Performs requests in their order. Changes that follow each other are one transaction. */
  perform(requests: readonly NumberedRequest[]): StoreAnswer[] {
    const answers: StoreAnswer[] = []
    let changes: { readonly id: number; readonly changes: readonly StoreChange[] }[] = []
    const commit = () => {
      if (changes.length > 0) answers.push(...this.#commit(changes))
      changes = []
    }
    for (const { id, request } of requests) {
      if (request.kind === 'change') {
        changes.push({ id, changes: request.changes })
        continue
      }
      // A block that is put now may be one that a change before lets go.
      commit()
      answers.push(answerOf(id, () => this.#request(request)))
    }
    commit()
    return answers
  }

  /**
   * Removes some blocks and rows that nothing needs any more.
   *
   * @returns whether there may be more
   */
  sweep(): boolean {
    return inTransaction(this.#connection, () => {
      const isMore = this.#entries.sweep(sweptAtOnce)
      const unused = this.#blocks.unused(this.#sweptTo, sweptAtOnce)
      for (const { cid, ...place } of unused) {
        this.#sweptTo = cid
        if (this.#held.has(keyOf(cid))) continue
        this.#blocks.remove(cid, place, CID.decode(cid).code === raw.code ? null : this.#read(place))
      }
      // Blocks below a removed one have any CID, so the next round begins at the first one.
      if (unused.length === 0 && this.#sweptTo.length > 0) {
        this.#sweptTo = new Uint8Array(0)
        return this.#blocks.unused(this.#sweptTo, sweptAtOnce).some(({ cid }) => !this.#held.has(keyOf(cid)))
      }
      return isMore || unused.length > 0
    })
  }

  close(): void {
    this.#flush()
    this.#packs.close()
    this.#connection.close()
  }

  #request(request: Exclude<StoreRequest, { kind: 'change' }>): void {
    if (request.kind === 'put') this.#put(request)
    if (request.kind === 'hold') this.#hold(request)
    if (request.kind === 'flush') this.#flush()
    if (request.kind === 'end') this.#held.end(request.session)
  }

  #hold({ session, cid }: Extract<StoreRequest, { kind: 'hold' }>): void {
    const key = keyOf(cid)
    if (!this.#waiting.has(key) && !this.#blocks.has(cid))
      throw new NodekeepError('NOT_FOUND', 'There is no such block.')
    this.#held.hold(session, key)
  }

  #put({ session, cid, bytes }: Extract<StoreRequest, { kind: 'put' }>): void {
    const key = keyOf(cid)
    const links = linksOf(cid, bytes)
    if (!this.#waiting.has(key) && !this.#blocks.has(cid)) {
      for (const link of links) {
        if (!this.#waiting.has(keyOf(link)) && !this.#blocks.has(link))
          throw new NodekeepError('VALIDATION_ERROR', 'A block links to one that is not in the store.')
      }
      this.#waiting.set(key, { cid, links, session, place: this.#packs.append(cid, bytes) })
      this.#waitingBytes += bytes.length
    }
    this.#held.hold(session, key)
    if (this.#waitingBytes >= mostWaitingBytes) this.#flush()
  }

  /** Lets the index name the blocks that were appended. */
  #flush(): void {
    if (this.#waiting.size === 0) return
    this.#sync()
    inTransaction(this.#connection, () => this.#addWaiting())
    this.#forgetWaiting()
  }

  #commit(
    requests: readonly { readonly id: number; readonly changes: readonly StoreChange[] }[],
  ): StoreAnswer[] {
    try {
      this.#sync()
      const answers = inTransaction(this.#connection, () => {
        this.#addWaiting()
        return requests.map(({ id, changes }) =>
          answerOf(id, () => {
            this.#connection.exec('SAVEPOINT change')
            try {
              for (const change of changes) this.#apply(change)
            } catch (error) {
              if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK TO change')
              throw error
            } finally {
              if (this.#connection.isTransaction) this.#connection.exec('RELEASE change')
            }
          }),
        )
      })
      this.#forgetWaiting()
      return answers
    } catch (error) {
      return requests.map(({ id }) => ({ id, failure: failureOf(error) }))
    }
  }

  #apply(change: StoreChange): void {
    if (change.kind === 'root') this.#setRoot(change)
    else this.#entries.apply(change)
  }

  #setRoot({ holder, cid }: Extract<StoreChange, { kind: 'root' }>): void {
    const row = this.#connection.prepare('SELECT cid FROM root WHERE holder = ?').get(holder)
    if (cid !== null) this.#blocks.retain(cid)
    if (row !== undefined) this.#blocks.release(row.cid as Uint8Array)
    if (cid === null) this.#connection.prepare('DELETE FROM root WHERE holder = ?').run(holder)
    else this.#connection.prepare('INSERT OR REPLACE INTO root VALUES (?, ?)').run(holder, cid)
  }

  #sync(): void {
    const synced = this.#waiting.size > 0 ? this.#packs.sync() : null
    if (synced !== null) this.#syncedLengths.set(synced.number, synced.length)
  }

  #addWaiting(): void {
    for (const [pack, length] of this.#syncedLengths) this.#blocks.setLength(pack, length)
    for (const { cid, place, links } of this.#waiting.values()) this.#blocks.add(cid, place, links)
  }

  /** A block with a row holds those to which it links. */
  #forgetWaiting(): void {
    for (const { session, links } of this.#waiting.values())
      for (const link of links) this.#held.release(session, keyOf(link))
    this.#waiting.clear()
    this.#waitingBytes = 0
    this.#syncedLengths.clear()
  }

  #read({ pack, position, length }: BlockPlace): Uint8Array {
    const descriptor = openSync(join(this.#folder, packName(pack)), 'r')
    try {
      const bytes = new Uint8Array(length)
      readSync(descriptor, bytes, 0, length, position)
      return bytes
    } finally {
      closeSync(descriptor)
    }
  }
}

function keyOf(cid: Uint8Array): string {
  return Buffer.from(cid).toString('latin1')
}

function answerOf(id: number, work: () => void): StoreAnswer {
  try {
    work()
    return { id }
  } catch (error) {
    return { id, failure: failureOf(error) }
  }
}

function failureOf(error: unknown): StoreFailure {
  if (isNodekeepError(error)) return { code: error.code, message: error.message }
  const code = isDiskFull(error) ? 'INSUFFICIENT_STORAGE' : 'SERVICE_UNAVAILABLE'
  return { code, message: error instanceof Error ? error.message : String(error) }
}
