import { statfsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { inTransaction, isNodekeepError, messageOf, NodekeepError } from '@nodekeep/plugin-sdk'
import { isDamage, isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { EntryChanges } from '../entries/entry-changes.ts'
import { BlockIndex, type BlockPlace, type IndexedBlock } from './block-index.ts'
import { linksOf } from './links.ts'
import { packHeader } from './pack-format.ts'
import { PackReader } from './pack-reader.ts'
import { PackWriter } from './pack-writer.ts'
import type {
  FromWriter,
  NumberedRequest,
  StoreAnswer,
  StoreChange,
  StoreFailure,
  StoreRequest,
  WriterSettings,
} from './protocol.ts'
import { openIndexForReading, setAside } from './schema.ts'
import { isSameTree, recordBlock, recordBlocks, recordOf, treeHolder } from './tree-record.ts'

/** Bytes of blocks that wait for their rows in the index. */
const mostWaitingBytes = 64 * 1024 * 1024

/** Blocks that wait for their rows, or for a note that a session holds them. */
const mostWaiting = 10_000

/** Blocks and rows that are removed in one transaction. */
const sweptAtOnce = 500

/** Blocks, and their bytes, that move to another pack in one transaction. */
const movedAtOnce = 200
const movedBytesAtOnce = 4 * 1024 * 1024

/** Ids of entries up to which a record of the tree takes less than a second. */
const cheapRecordIds = 100_000

/** Milliseconds after which the work in the background is tried again. */
const retryMs = 10_000

/**
 * Bytes of the disk that new blocks never use; on a small disk, an eighth of it. On a disk that is full to the last byte, nothing could
 * be removed.
 */
const mostReservedBytes = 32 * 1024 * 1024
const smallDiskShare = 8

/** Bytes after which the space of the disk is looked at again. */
const mostUncheckedBytes = 8 * 1024 * 1024

const fullDisk = 'The disk that holds the blocks is full. Remove what is not needed, and try again.'

/** The session of the record of the tree. Those of others are larger. */
const recordSession = 0

export type SendFromWriter = (message: FromWriter) => void

/** A block that was appended, and has no row yet. */
interface WaitingBlock {
  readonly cid: Uint8Array
  readonly place: BlockPlace
  readonly links: readonly Uint8Array[]
}

/** A request that is answered when the store has no dead bytes from before. */
interface Compaction {
  readonly id: number
  /** Blocks that were freed in an earlier epoch must go; null until a record of the tree has been made. */
  epoch: number | null
}

/** The disk may have lost what was appended. Only a new start knows what is there. */
class LostSync extends Error {}

/**
 * The part of the store that changes it, in the writer thread. The order is: append, sync, commit. So the index never names bytes that
 * a power loss can take, and what a crash leaves behind the recorded length of a pack is cut at the next start.
 *
 * A session holds what it put or asked for, without a list of it: it has the epoch of its begin, and no block goes that was freed or
 * touched in this epoch or later.
 */
export class StoreWriter {
  readonly #connection: DatabaseSync
  readonly #file: string
  readonly #folder: string
  readonly #send: SendFromWriter
  readonly #blocks: BlockIndex
  readonly #packs: PackWriter
  readonly #reader: PackReader
  readonly #entries: EntryChanges
  /** Epochs of the open sessions, the oldest first. */
  readonly #sessions = new Map<number, number>()
  readonly #waiting = new Map<string, WaitingBlock>()
  #waitingBytes = 0
  /** Bytes that may be appended before the next look at the space of the disk. */
  #bytesToCheck = 0
  /** Blocks with a row that sessions have put again or asked for. */
  readonly #touched = new Map<string, Uint8Array>()
  /** Lengths of packs that are on the disk, and not in the index yet. */
  readonly #syncedLengths = new Map<number, number>()
  readonly #compactions: Compaction[] = []
  /** Packs with damaged blocks. They are not rewritten again before the next start. */
  readonly #keptPacks = new Set<number>()
  #work: Generator<void> | null = null
  #pausedUntil = 0
  #isRecordDue = false
  #isTreeChanged: boolean
  #mayRemoveEntries = true
  #mayRewrite = true

  constructor(connection: DatabaseSync, { file, folder, packBytes }: WriterSettings, send: SendFromWriter) {
    this.#connection = connection
    this.#file = file
    this.#folder = folder
    this.#send = send
    this.#blocks = new BlockIndex(connection)
    this.#packs = new PackWriter(this.#blocks, folder, packBytes)
    this.#reader = new PackReader(folder)
    this.#entries = new EntryChanges(connection, this.#blocks)
    this.#isTreeChanged = this.#blocks.packs().length > 0
  }

  /**
   * Performs requests in their order, and answers them. Changes that follow each other are one transaction.
   *
   * @throws Error after which the store must be opened anew
   */
  perform(requests: readonly NumberedRequest[]): void {
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
      if (request.kind === 'compact') this.#compactions.push({ id, epoch: null })
      else answers.push(answerOf(id, () => this.#request(request)))
    }
    commit()
    this.#send({ answers })
  }

  /**
   * Does a small step of the work for which nobody waits: removes what nothing needs, rewrites packs, records the tree.
   *
   * @returns the milliseconds after which there may be more to do; null if there is nothing
   * @throws Error after which the store must be opened anew
   */
  step(): number | null {
    const pause = this.#pausedUntil - Date.now()
    if (pause > 0) return pause
    try {
      this.#work ??= this.#nextWork()
      if (this.#work === null) return null
      if (this.#work.next().done) this.#work = null
      return 0
    } catch (error) {
      const failure = failureOf(error)
      this.#work = null
      this.#pausedUntil = Date.now() + retryMs
      const notice = `The upkeep of the store of blocks has failed, and will be tried again: ${failure.message}`
      this.#send({ level: 'warn', notice })
      this.#send({ answers: this.#compactions.splice(0).map(({ id }) => ({ id, failure })) })
      return retryMs
    }
  }

  /** Lets the tree be recorded if it has changed. */
  record(): void {
    this.#isRecordDue = true
  }

  close(): void {
    try {
      this.#work?.return(undefined)
      const { newest } = this.#connection.prepare('SELECT max(id) AS newest FROM entry').get() ?? {}
      if (Number(newest) <= cheapRecordIds) for (const _ of this.#record());
      this.#transaction(() => {})
      // The connections that read outlive this one, and cannot do it.
      this.#connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      // All that anybody was promised is on the disk.
      this.#send({ level: 'warn', notice: `The tree was not recorded at the end: ${messageOf(error)}` })
    }
    this.#packs.end()
    this.#reader.close()
    this.#connection.close()
  }

  /** Closes the store after an error. A damaged index is set aside, so the next start makes it again. */
  abandon(error: unknown): void {
    this.#connection.close()
    if (isDamage(error)) setAside(this.#file)
  }

  #request(request: Exclude<StoreRequest, { kind: 'change' | 'compact' }>): void {
    if (request.kind === 'put') this.#put(request.session, request.cid, request.bytes)
    if (request.kind === 'hold') this.#holdOf(request.session, request.cid)
    if (request.kind === 'flush' && this.#waiting.size > 0) this.#transaction(() => {})
    if (request.kind === 'end') this.#end(request.session)
  }

  #holdOf(session: number, cid: Uint8Array): void {
    if (!this.#hold(this.#epochOf(session), cid))
      throw new NodekeepError('NOT_FOUND', 'There is no such block.')
  }

  #put(session: number, cid: Uint8Array, bytes: Uint8Array): void {
    const epoch = this.#epochOf(session)
    if (this.#hold(epoch, cid)) {
      this.#repair(cid, bytes)
      return
    }
    const links = validLinksOf(cid, bytes)
    if (!links.every((link) => this.#hold(epoch, link)))
      throw new NodekeepError('VALIDATION_ERROR', 'A block links to one that is not in the store.')
    if (session !== recordSession) this.#checkSpace(bytes.length)
    this.#waiting.set(textOf(cid), { cid, links, place: this.#packs.append(cid, bytes) })
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes >= mostWaitingBytes || this.#waiting.size >= mostWaiting)
      this.#transaction(() => {})
  }

  /** Replaces the bytes of a block if the disk has lost or changed them: whoever puts a block can read it afterwards. */
  #repair(cid: Uint8Array, bytes: Uint8Array): void {
    const block = this.#blocks.find(cid)
    if (block === undefined || this.#reader.read(block) !== null) return
    this.#checkSpace(bytes.length)
    const place = this.#packs.append(cid, bytes)
    this.#transaction(() => this.#blocks.move(block, place))
  }

  /** @throws NodekeepError INSUFFICIENT_STORAGE if a block would use space that removals and rewritten packs need */
  #checkSpace(bytes: number): void {
    this.#bytesToCheck -= bytes
    if (this.#bytesToCheck > 0) return
    const { bavail, blocks, bsize } = statfsSync(this.#folder)
    const reserved = Math.min(mostReservedBytes, (blocks * bsize) / smallDiskShare)
    const free = bavail * bsize - reserved - bytes
    // File systems that cannot tell their space answer zero.
    if (blocks > 0 && free < 0) throw new NodekeepError('INSUFFICIENT_STORAGE', fullDisk)
    this.#bytesToCheck = Math.min(free / 2, mostUncheckedBytes)
  }

  #end(session: number): void {
    this.#sessions.delete(session)
    if (this.#sessions.size === 0) this.#touched.clear()
  }

  #epochOf(session: number): number {
    const epoch = this.#sessions.get(session) ?? this.#blocks.nextEpoch()
    this.#sessions.set(session, epoch)
    return epoch
  }

  /** @returns whether there is such a block */
  #hold(epoch: number, cid: Uint8Array): boolean {
    const text = textOf(cid)
    if (this.#waiting.has(text) || this.#touched.has(text)) return true
    const touched = this.#blocks.epochOf(cid)
    if (touched === undefined) return false
    if (touched < epoch) this.#touched.set(text, cid)
    if (this.#touched.size >= mostWaiting) this.#transaction(() => {})
    return true
  }

  #commit(
    requests: readonly { readonly id: number; readonly changes: readonly StoreChange[] }[],
  ): StoreAnswer[] {
    this.#isTreeChanged = true
    this.#mayRemoveEntries = true
    try {
      return this.#transaction(() =>
        requests.map(({ id, changes }) => answerOf(id, () => this.#apply(changes))),
      )
    } catch (error) {
      const failure = failureOf(error)
      return requests.map(({ id }) => ({ id, failure }))
    }
  }

  /** Makes all changes or none. Errors that are not about the changes end the transaction: SQLite may have rolled it back. */
  #apply(changes: readonly StoreChange[]): void {
    this.#connection.exec('SAVEPOINT change')
    try {
      for (const change of changes) {
        if (change.kind === 'root') this.#setRoot(change.holder, change.cid)
        else this.#entries.apply(change)
      }
    } catch (error) {
      if (!isNodekeepError(error)) throw new FailedTransaction(error)
      this.#connection.exec('ROLLBACK TO change')
      throw error
    } finally {
      if (this.#connection.isTransaction) this.#connection.exec('RELEASE change')
    }
  }

  #setRoot(holder: string, cid: Uint8Array | null): void {
    const row = this.#connection.prepare('SELECT cid FROM root WHERE holder = ?').get(holder)
    if (cid !== null) this.#blocks.retain(cid)
    if (row !== undefined) this.#blocks.release(row.cid as Uint8Array)
    if (cid === null) this.#connection.prepare('DELETE FROM root WHERE holder = ?').run(holder)
    else this.#connection.prepare('INSERT OR REPLACE INTO root VALUES (?, ?)').run(holder, cid)
  }

  /** Syncs what was appended, and commits it with the work. If that fails, the next transaction commits it. */
  #transaction<T>(work: () => T): T {
    this.#sync()
    const result = inTransaction(this.#connection, () => {
      for (const [pack, length] of this.#syncedLengths) this.#blocks.setLength(pack, length)
      for (const cid of this.#touched.values()) this.#blocks.touch(cid)
      for (const { cid, place, links } of this.#waiting.values()) {
        this.#blocks.add(cid, place)
        for (const link of links) this.#blocks.retain(link)
      }
      return work()
    })
    this.#syncedLengths.clear()
    this.#touched.clear()
    this.#waiting.clear()
    this.#waitingBytes = 0
    return result
  }

  #sync(): void {
    try {
      const synced = this.#packs.sync()
      if (synced !== null) this.#syncedLengths.set(synced.number, synced.length)
    } catch (error) {
      throw new LostSync('The disk did not store the blocks.', { cause: error })
    }
  }

  #nextWork(): Generator<void> | null {
    const compaction = this.#compactions[0]
    if (compaction?.epoch === null) return this.#recordFor(compaction)
    if (this.#isRecordDue) return this.#record()
    const oldest = this.#oldestSession()
    if (this.#waiting.size > 0 && this.#sessions.size === 0) this.#transaction(() => {})
    if (this.#mayRemoveEntries || this.#blocks.unused(oldest, 1).length > 0) return this.#sweep()
    if (compaction !== undefined && (compaction.epoch ?? 0) < oldest) return this.#compact(compaction)
    const pack = this.#mayRewrite ? this.#mostlyDeadPack() : undefined
    if (pack !== undefined) return this.#rewrite(pack)
    this.#mayRewrite = false
    return null
  }

  #oldestSession(): number {
    for (const epoch of this.#sessions.values()) return epoch
    return Number.MAX_SAFE_INTEGER
  }

  *#sweep(): Generator<void> {
    for (let isMore = true; isMore; ) {
      isMore = this.#transaction(() => {
        this.#mayRemoveEntries = this.#entries.sweep(sweptAtOnce)
        const unused = this.#blocks.unused(this.#oldestSession(), sweptAtOnce)
        for (const block of unused) this.#blocks.remove(block, this.#storedLinksOf(block))
        if (unused.length > 0) this.#mayRewrite = true
        return this.#mayRemoveEntries || unused.length > 0
      })
      yield
    }
  }

  /** The blocks below a damaged one stay until the index is made again. */
  #storedLinksOf(block: IndexedBlock): Uint8Array[] {
    if (block.pack === 0 || CID.decode(block.cid).code === raw.code) return []
    const bytes = this.#reader.read(block)
    if (bytes !== null) return linksOf(block.cid, bytes)
    this.#tellDamage(block)
    return []
  }

  #tellDamage({ cid }: IndexedBlock): void {
    const notice = `The block ${CID.decode(cid)} is damaged on the disk. Find the files that need it by "nodekeep ipfs verify".`
    this.#send({ level: 'warn', notice })
  }

  #mostlyDeadPack(): number | undefined {
    const packs = this.#blocks.packs()
    return packs.find(
      ({ number, length, live }) =>
        2 * live < length - packHeader.length &&
        number !== this.#packs.current &&
        !this.#keptPacks.has(number),
    )?.number
  }

  /** Moves the blocks of a pack to the current one. A damaged block stays, and so does its pack. */
  *#rewrite(pack: number): Generator<void> {
    for (let position = 0; ; ) {
      const moved: { readonly block: IndexedBlock; readonly place: BlockPlace }[] = []
      let bytesMoved = 0
      const blocks = this.#blocks.inPack(pack, position, movedAtOnce)
      if (blocks.length === 0) break
      for (const block of blocks) {
        if (bytesMoved >= movedBytesAtOnce) break
        position = block.position
        const bytes = this.#reader.read(block)
        if (bytes === null) this.#tellDamage(block)
        else moved.push({ block, place: this.#packs.append(block.cid, bytes) })
        bytesMoved += block.length
      }
      this.#transaction(() => {
        for (const { block, place } of moved) this.#blocks.move(block, place)
      })
      yield
    }
    const live = this.#blocks.packs().find(({ number }) => number === pack)?.live ?? 0
    if (live > 0) {
      this.#keptPacks.add(pack)
      return
    }
    this.#transaction(() => this.#blocks.removePack(pack))
    this.#reader.close()
    this.#send({ retired: pack })
  }

  *#compact({ id }: Compaction): Generator<void> {
    this.#transaction(() => {})
    const packs = this.#blocks.packs().filter(({ length, live }) => live < length - packHeader.length)
    if (packs.some(({ number }) => number === this.#packs.current)) this.#packs.end()
    for (const { number } of packs) yield* this.#rewrite(number)
    this.#compactions.shift()
    this.#send({ answers: [{ id }] })
  }

  /** The names of what was removed go with the former record. */
  *#recordFor(compaction: Compaction): Generator<void> {
    yield* this.#record()
    compaction.epoch = this.#blocks.nextEpoch()
  }

  *#record(): Generator<void> {
    this.#isRecordDue = false
    if (!this.#isTreeChanged) return
    this.#isTreeChanged = false
    const reading = openIndexForReading(this.#file)
    let isRecorded = false
    try {
      reading.exec('BEGIN; SELECT 1 FROM entry LIMIT 1')
      const blocks = recordBlocks(reading, Date.now())
      let next = blocks.next()
      for (; !next.done; next = blocks.next()) {
        this.#put(recordSession, next.value.cid.bytes, next.value.bytes)
        yield
      }
      const former = this.#formerRecord()
      if (former === null || !isSameTree(former, next.value)) {
        const { cid, bytes } = recordBlock(next.value)
        this.#put(recordSession, cid.bytes, bytes)
        this.#transaction(() => this.#setRoot(treeHolder, cid.bytes))
      }
      isRecorded = true
    } finally {
      if (!isRecorded) this.#isTreeChanged = true
      reading.close()
      this.#end(recordSession)
    }
  }

  #formerRecord() {
    const row = this.#connection.prepare('SELECT cid FROM root WHERE holder = ?').get(treeHolder)
    const block = row && this.#blocks.find(row.cid as Uint8Array)
    const bytes = block === undefined ? null : this.#reader.read(block)
    return bytes === null ? null : recordOf(bytes)
  }
}

/** A transaction that must end, because the disk or the database has failed. */
class FailedTransaction extends Error {
  constructor(cause: unknown) {
    super('The transaction failed.', { cause })
  }
}

function textOf(cid: Uint8Array): string {
  return Buffer.from(cid).toString('latin1')
}

function validLinksOf(cid: Uint8Array, bytes: Uint8Array): Uint8Array[] {
  try {
    // Decoders of text do not read memory that threads share.
    return CID.decode(cid).code === raw.code ? [] : linksOf(cid, bytes.slice())
  } catch (cause) {
    throw new NodekeepError('VALIDATION_ERROR', 'A block is not what its CID says.', { cause })
  }
}

function answerOf(id: number, work: () => void): StoreAnswer {
  try {
    work()
    return { id }
  } catch (error) {
    if (error instanceof FailedTransaction) throw error.cause
    return { id, failure: failureOf(error) }
  }
}

/** @throws the error if the store must be opened anew */
function failureOf(error: unknown): StoreFailure {
  if (error instanceof LostSync || isDamage(error)) throw error
  if (isNodekeepError(error)) return { code: error.code, message: error.message }
  if (isDiskFull(error)) return { code: 'INSUFFICIENT_STORAGE', message: fullDisk }
  return { code: 'SERVICE_UNAVAILABLE', message: messageOf(error) }
}
