import type { DatabaseSync } from 'node:sqlite'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import type { EntryChanges } from '../entries/entry-changes.ts'
import type { BlockIndex, BlockPlace, IndexedBlock } from './block-index.ts'
import { type BlockSessions, recordSession } from './block-sessions.ts'
import { failureOf } from './failures.ts'
import { linksOf } from './links.ts'
import { packHeader } from './pack-format.ts'
import type { PackReader } from './pack-reader.ts'
import type { PackWriter } from './pack-writer.ts'
import type { SendFromWriter } from './protocol.ts'
import type { Roots } from './roots.ts'
import { openIndexForReading } from './schema.ts'
import {
  isSameTree,
  recordBlock,
  recordBlocks,
  recordOf,
  type TreeRecord,
  treeHolder,
} from './tree-record.ts'

/** Blocks and rows that are removed in one transaction. */
const sweptAtOnce = 500

/** Blocks, and their bytes, that move to another pack in one transaction. */
const movedAtOnce = 200
const movedBytesAtOnce = 4 * 1024 * 1024

/** Dead bytes from which on the pack that gets the blocks is rewritten, too: on a full disk, there is no other room. */
const leastDeadBytes = 4 * 1024 * 1024

/** Ids of entries up to which a record of the tree takes less than a second. */
const cheapRecordIds = 100_000

/** Milliseconds after which failed work is tried again. */
const retryMs = 10_000

interface UpkeepServices {
  /** The path of the index. */
  readonly file: string
  readonly connection: DatabaseSync
  readonly blocks: BlockIndex
  readonly packs: PackWriter
  readonly reader: PackReader
  readonly entries: EntryChanges
  readonly roots: Roots
  readonly sessions: BlockSessions
  readonly send: SendFromWriter
}

/** A request that is answered when the store has no dead bytes from before. */
interface Compaction {
  readonly id: number
  /** Blocks that were freed in an earlier epoch must go; null until a record of the tree has been made. */
  epoch: number | null
}

/** The work of the store for which nobody waits: removes what nothing needs, rewrites packs, records the tree. */
export class Upkeep {
  readonly #services: UpkeepServices
  readonly #compactions: Compaction[] = []
  /** Packs with damaged blocks. They are not rewritten again before the next start. */
  readonly #keptPacks = new Set<number>()
  #work: Generator<void> | null = null
  #pausedUntil = 0
  #isRecordDue = false
  #isTreeChanged: boolean
  #mayRemoveEntries = true
  #mayRewrite = true

  constructor(services: UpkeepServices) {
    this.#services = services
    this.#isTreeChanged = services.blocks.packs().length > 0
  }

  /** Says that the tree or the roots change. */
  noteChange(): void {
    this.#isTreeChanged = true
    this.#mayRemoveEntries = true
  }

  /** Lets the tree be recorded if it has changed. */
  record(): void {
    this.#isRecordDue = true
  }

  /** Removes all bytes that nothing needs now. Answers the request then. */
  compact(id: number): void {
    this.#compactions.push({ id, epoch: null })
  }

  /**
   * Does a small step.
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
      const { send } = this.#services
      const failure = failureOf(error)
      this.#work = null
      this.#pausedUntil = Date.now() + retryMs
      const warning = `The upkeep of the store of blocks has failed, and will be tried again: ${failure.message}`
      send({ warning })
      send({ answers: this.#compactions.splice(0).map(({ id }) => ({ id, failure })) })
      return retryMs
    }
  }

  /** Ends the work that has begun, and records the tree if that takes no time. */
  end(): void {
    this.#work?.return(undefined)
    const { newest } = this.#services.connection.prepare('SELECT max(id) AS newest FROM entry').get() ?? {}
    if (Number(newest) <= cheapRecordIds) for (const _ of this.#record());
  }

  #nextWork(): Generator<void> | null {
    const { blocks, sessions } = this.#services
    const compaction = this.#compactions[0]
    if (compaction?.epoch === null) return this.#recordFor(compaction)
    if (this.#isRecordDue) return this.#record()
    if (sessions.areEnded) sessions.flush()
    const oldest = sessions.oldestEpoch
    if (this.#mayRemoveEntries || blocks.unused(oldest, 1).length > 0) return this.#sweep()
    if (compaction !== undefined && (compaction.epoch ?? 0) < oldest) return this.#compact(compaction)
    const pack = this.#mayRewrite ? this.#mostlyDeadPack() : undefined
    if (pack !== undefined) return this.#rewrite(pack)
    this.#mayRewrite = false
    return null
  }

  *#sweep(): Generator<void> {
    const { blocks, entries, sessions } = this.#services
    // A record may have been made since the removal, with the rows that go now.
    if (this.#mayRemoveEntries) this.#isTreeChanged = true
    for (let isMore = true; isMore; ) {
      isMore = sessions.transaction(() => {
        this.#mayRemoveEntries = entries.sweep(sweptAtOnce)
        const unused = blocks.unused(sessions.oldestEpoch, sweptAtOnce)
        for (const block of unused) blocks.remove(block, this.#storedLinksOf(block))
        if (unused.length > 0) this.#mayRewrite = true
        return this.#mayRemoveEntries || unused.length > 0
      })
      yield
    }
  }

  /** The blocks below a damaged one stay until the index is made again. */
  #storedLinksOf(block: IndexedBlock): Uint8Array[] {
    if (block.pack === 0 || CID.decode(block.cid).code === raw.code) return []
    const bytes = this.#services.reader.read(block)
    if (bytes !== null) return linksOf(block.cid, bytes)
    this.#tellDamage(block)
    return []
  }

  #tellDamage({ cid }: IndexedBlock): void {
    const warning = `The block ${CID.decode(cid)} is damaged on the disk. Find the files that need it by "nodekeep ipfs verify".`
    this.#services.send({ warning })
  }

  #mostlyDeadPack(): number | undefined {
    const { blocks, packs } = this.#services
    return blocks
      .packs()
      .find(
        ({ number, length, live }) =>
          2 * live < length - packHeader.length &&
          (number !== packs.current || length - live >= leastDeadBytes) &&
          !this.#keptPacks.has(number),
      )?.number
  }

  /** Moves the blocks of a pack to the current one. A damaged block stays, and so does its pack. */
  *#rewrite(pack: number): Generator<void> {
    const { blocks, packs, reader, sessions, send } = this.#services
    if (pack === packs.current) {
      sessions.transaction(() => {})
      packs.end()
    }
    for (let position = 0; ; ) {
      const moved: { readonly block: IndexedBlock; readonly place: BlockPlace }[] = []
      let bytesMoved = 0
      const listed = blocks.inPack(pack, position, movedAtOnce)
      if (listed.length === 0) break
      for (const block of listed) {
        if (bytesMoved >= movedBytesAtOnce) break
        position = block.position
        const bytes = reader.read(block)
        if (bytes === null) this.#tellDamage(block)
        else moved.push({ block, place: packs.append(block.cid, bytes) })
        bytesMoved += block.length
      }
      sessions.transaction(() => {
        for (const { block, place } of moved) blocks.move(block, place)
      })
      yield
    }
    const live = blocks.packs().find(({ number }) => number === pack)?.live ?? 0
    if (live > 0) {
      this.#keptPacks.add(pack)
      return
    }
    sessions.transaction(() => blocks.removePack(pack))
    reader.close()
    send({ retired: pack })
  }

  *#compact({ id }: Compaction): Generator<void> {
    const { blocks, packs, sessions, send } = this.#services
    sessions.transaction(() => {})
    const withDead = blocks.packs().filter(({ length, live }) => live < length - packHeader.length)
    if (withDead.some(({ number }) => number === packs.current)) packs.end()
    for (const { number } of withDead) yield* this.#rewrite(number)
    this.#compactions.shift()
    send({ answers: [{ id }] })
  }

  /**
   * The former record still has the names of what was removed, so a compaction begins with a new one. What a removed folder had is in
   * the table until a sweep, so that comes first.
   */
  *#recordFor(compaction: Compaction): Generator<void> {
    yield* this.#sweep()
    yield* this.#record()
    compaction.epoch = this.#services.blocks.nextEpoch()
  }

  *#record(): Generator<void> {
    this.#isRecordDue = false
    if (!this.#isTreeChanged) return
    this.#isTreeChanged = false
    const { file, roots, sessions } = this.#services
    const reading = openIndexForReading(file)
    let isRecorded = false
    try {
      reading.exec('BEGIN; SELECT 1 FROM entry LIMIT 1')
      const blocks = recordBlocks(reading, Date.now())
      let next = blocks.next()
      for (; !next.done; next = blocks.next()) {
        sessions.put(recordSession, next.value.cid.bytes, next.value.bytes)
        yield
      }
      const former = this.#formerRecord()
      if (former === null || !isSameTree(former, next.value)) {
        const { cid, bytes } = recordBlock(next.value)
        sessions.put(recordSession, cid.bytes, bytes)
        sessions.transaction(() => roots.set(treeHolder, cid.bytes))
      }
      isRecorded = true
    } finally {
      if (!isRecorded) this.#isTreeChanged = true
      reading.close()
      sessions.end(recordSession)
    }
  }

  #formerRecord(): TreeRecord | null {
    const { blocks, reader, roots } = this.#services
    const cid = roots.get(treeHolder)
    const block = cid && blocks.find(cid)
    const bytes = block === undefined ? null : reader.read(block)
    return bytes === null ? null : recordOf(bytes)
  }
}
