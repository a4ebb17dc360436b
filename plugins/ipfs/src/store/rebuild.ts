import { randomUUID } from 'node:crypto'
import { statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import * as dagCbor from '@ipld/dag-cbor'
import { inTransaction } from '@nodekeep/plugin-sdk/data-folder'
import { isNodekeepError } from '@nodekeep/plugin-sdk/thread-parts'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import type { EntryChange } from '../entries/entry-change.ts'
import { EntryChanges } from '../entries/entry-changes.ts'
import type { UnixFsNode } from '../unixfs/unixfs-node.ts'
import { BlockIndex } from './block-index.ts'
import { keyOf, linksOf } from './links.ts'
import { packsIn } from './pack-folder.ts'
import { packName } from './pack-format.ts'
import { PackReader } from './pack-reader.ts'
import { type PackPart, partsOfPack } from './pack-sections.ts'
import { finishIndex, newIndex } from './schema.ts'
import { type EntryRow, type RootRow, recordOf, rowsOf, type TreeRecord, treeHolder } from './tree-record.ts'

/** Blocks that are added in one transaction. */
const addedAtOnce = 2000

/** Records that are tried, the newest first. A record is of no use if one of its blocks is lost. */
const mostRecords = 100

/** The folder of the tree for files that the newest record does not name. */
const recoveredFolder = '/recovered'

/** The deepest folder that is recovered. */
const mostLevels = 64

type UnixFs = typeof import('../unixfs/unixfs-node.ts')

interface Rebuilt {
  readonly connection: DatabaseSync
  readonly blocks: number
  /** When the record was made from which the tree comes, in milliseconds since 1970; null if there was none. */
  readonly recordedAt: number | null
  /** Files and folders in `/recovered`. */
  readonly recovered: number
  /** Damaged bytes: the file of the pack, and positions in it. */
  readonly damaged: readonly { readonly file: string; readonly from: number; readonly to: number }[]
}

/**
 * Makes the index again from the packs: blocks, counts of references, the tree and roots of the newest record. Each block that nothing
 * names then gets an entry `/recovered/<cid>`. Blocks that the tree needs and no pack has count as lost.
 *
 * @param file of the index; what is there is set aside
 * @param onProgress gets the bytes that were read, and all bytes of packs
 * @throws errors of the disk
 */
export async function rebuildIndex(
  file: string,
  folder: string,
  onProgress: (bytes: number, of: number) => void,
): Promise<Rebuilt> {
  const connection = newIndex(file)
  try {
    const rebuild = new Rebuild(connection, folder)
    const rebuilt = await rebuild.run(onProgress)
    finishIndex(connection)
    return { connection, ...rebuilt }
  } catch (error) {
    connection.close()
    throw error
  }
}

class Rebuild {
  readonly #connection: DatabaseSync
  readonly #folder: string
  readonly #blocks: BlockIndex
  readonly #entries: EntryChanges
  readonly #reader: PackReader
  readonly #records: { readonly cid: Uint8Array; readonly record: TreeRecord }[] = []
  readonly #damaged: { file: string; from: number; to: number }[] = []
  /** Folders, and nodes of large ones, that are recovered. */
  readonly #folders = new Set<string>()
  #added = 0
  #recovered = 0

  constructor(connection: DatabaseSync, folder: string) {
    this.#connection = connection
    this.#folder = folder
    this.#blocks = new BlockIndex(connection)
    this.#entries = new EntryChanges(connection, this.#blocks)
    this.#reader = new PackReader(folder)
  }

  async run(onProgress: (bytes: number, of: number) => void): Promise<Omit<Rebuilt, 'connection'>> {
    const packs = packsIn(this.#folder)
    const sizes = packs.map((pack) => statSync(this.#file(pack)).size)
    const all = sizes.reduce((sum, size) => sum + size, 0)
    let before = 0
    packs.forEach((pack, index) => {
      const size = sizes[index] ?? 0
      this.#addPack(pack, size, pack === packs.at(-1), (bytes) => onProgress(before + bytes, all))
      before += size
    })
    const recordedAt = inTransaction(this.#connection, () => this.#addTree())
    await this.#recover()
    this.#reader.close()
    return { blocks: this.#added, recordedAt, recovered: this.#recovered, damaged: this.#damaged }
  }

  #addPack(pack: number, size: number, isNewest: boolean, onProgress: (bytes: number) => void): void {
    let at = 0
    const parts = partsOfPack(this.#file(pack))
    for (let isMore = true; isMore; ) {
      isMore = inTransaction(this.#connection, () => {
        this.#blocks.setLength(pack, size)
        for (let count = 0; count < addedAtOnce; count += 1) {
          const part = this.#next(parts, at, size)
          if (part === null) return false
          if (part.cid !== null) this.#addBlock(pack, part)
          // A crash leaves such a tail in the newest pack.
          else if (isNewest && part.end === size) this.#cut(pack, part.position)
          else this.#keep(pack, part.position, part.end)
          at = part.end
        }
        return true
      })
      onProgress(at)
    }
  }

  /** Returns the next part; a damaged one if the disk cannot read on; null at the end. */
  #next(parts: Generator<PackPart>, at: number, size: number): PackPart | null {
    try {
      const { done, value } = parts.next()
      return done ? null : value
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error
      return { cid: null, position: at, end: size + 1 }
    }
  }

  #addBlock(pack: number, { cid, bytes, position }: Extract<PackPart, { bytes: Uint8Array }>): void {
    if (!this.#blocks.add(cid, { pack, position, length: bytes.length })) return
    this.#added += 1
    let links: Uint8Array[]
    try {
      links = linksOf(cid, bytes)
      if (cid[1] === dagCbor.code) this.#addRecord(cid, bytes)
    } catch {
      // Bytes that are no block of their codec name nothing.
      return
    }
    for (const link of links) this.#blocks.retainLost(link)
  }

  #addRecord(cid: Uint8Array, bytes: Uint8Array): void {
    const record = recordOf(bytes)
    if (record === null) return
    this.#records.push({ cid, record })
    this.#records.sort((one, other) => other.record.time - one.record.time)
    this.#records.splice(mostRecords)
  }

  #cut(pack: number, length: number): void {
    truncateSync(this.#file(pack), length)
    this.#blocks.setLength(pack, length)
  }

  /** Damaged bytes count as bytes of blocks, so the pack stays: somebody may rescue them. */
  #keep(pack: number, from: number, to: number): void {
    this.#blocks.keepBytes(pack, to - from)
    this.#damaged.push({ file: this.#file(pack), from, to })
  }

  /** @returns the time of the newest whole record */
  #addTree(): number | null {
    const isWhole = ({ entries, roots }: TreeRecord) =>
      [...entries, ...roots].every((part) => this.#read(part.bytes) !== null)
    const newest = this.#records.find(({ record }) => isWhole(record))
    if (newest === undefined) return null
    const { cid, record } = newest
    const addEntry = this.#connection.prepare('INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
    for (const row of this.#rows<EntryRow>(record.entries)) {
      addEntry.run(...row)
      if (row[3] !== null) this.#blocks.retainLost(row[3])
    }
    const addRoot = this.#connection.prepare('INSERT INTO root VALUES (?, ?)')
    const addRow = (...row: RootRow) => {
      addRoot.run(...row)
      this.#blocks.retainLost(row[1])
    }
    for (const row of this.#rows<RootRow>(record.roots)) addRow(...row)
    addRow(treeHolder, cid)
    return record.time
  }

  *#rows<Row>(parts: readonly CID[]): Generator<Row> {
    for (const part of parts) yield* rowsOf<Row>(this.#read(part.bytes) ?? new Uint8Array(0))
  }

  async #recover(): Promise<void> {
    const unnamed = this.#connection.prepare('SELECT cid FROM block WHERE refs = 0').all()
    if (unnamed.length === 0) return
    // This thread would load a third of its modules for it at each start.
    const unixFs = await import('../unixfs/unixfs-node.ts')
    inTransaction(this.#connection, () => {
      for (const { cid } of unnamed) {
        const name = CID.decode(cid as Uint8Array)
        if (this.#recoverAt(unixFs, `${recoveredFolder}/${name}`, name, mostLevels)) this.#recovered += 1
      }
    })
  }

  /** @returns whether the block is a file or folder of which at least the names are there */
  #recoverAt(unixFs: UnixFs, path: string, cid: CID, levels: number): boolean {
    const found = this.#blocks.find(keyOf(cid))
    if (cid.code === raw.code) return found !== undefined && this.#addFile(path, cid, found.length)
    const node = this.#nodeOf(unixFs, cid)
    if (node === null || node.kind === 'symlink' || levels === 0) return false
    if (node.kind === 'file') return this.#addFile(path, cid, node.size)
    // Folders can be within each other more often than anybody can count.
    if (this.#folders.has(`${cid}`) || !this.#apply({ kind: 'folder', path })) return false
    this.#folders.add(`${cid}`)
    for (const { name, cid: entry } of node.entries) {
      if (name === '' || /[/\0]/.test(name) || name === '.' || name === '..') continue
      this.#recoverAt(unixFs, `${path}/${name}`, entry, levels - 1)
    }
    if (node.kind === 'shard')
      for (const shard of node.shards.values()) this.#recoverAt(unixFs, path, shard, levels - 1)
    return true
  }

  #addFile(path: string, cid: CID, size: number): boolean {
    const revision = randomUUID()
    const now = Date.now()
    return this.#apply({ kind: 'file', path, root: keyOf(cid), size, modified: now, created: now, revision })
  }

  /** @returns whether the tree can have such an entry */
  #apply(change: EntryChange): boolean {
    try {
      this.#entries.apply(change)
      return true
    } catch (error) {
      if (!isNodekeepError(error)) throw error
      return false
    }
  }

  /** Returns a block of a file or folder; null if it is none, or is lost or damaged. */
  #nodeOf({ NotUnixFs, unixFsNode }: UnixFs, cid: CID): UnixFsNode | null {
    const bytes = this.#read(keyOf(cid))
    try {
      return bytes && unixFsNode(cid, bytes)
    } catch (error) {
      if (error instanceof NotUnixFs) return null
      throw error
    }
  }

  /** Returns the bytes of a block; null if it is lost or damaged. */
  #read(cid: Uint8Array): Uint8Array | null {
    const found = this.#blocks.find(cid)
    return found === undefined ? null : this.#reader.read(found)
  }

  #file(pack: number): string {
    return join(this.#folder, packName(pack))
  }
}
