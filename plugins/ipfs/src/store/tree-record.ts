import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import * as dagCbor from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { sha256 } from 'multiformats/hashes/sha2'

/*
 * The record of the tree, from which a lost index is made again. It is one block `{ treeRecord: 1, time, entries, roots }` as DAG-CBOR,
 * where `entries` and `roots` are links to blocks `{ rows }`. A part has the entries of a range of ids, so a part without a change is
 * the block that is there. Blocks of users are never DAG-CBOR, so nobody else makes records.
 */

/** Ids in a part. A part has less than 1 MiB: an entry has at most some 700 bytes. */
const idsInPart = 1024

/** Rows of roots in a part. */
const rootsInPart = 1024

/** The holder of the root of the newest record. */
export const treeHolder = 'tree'

/** The columns of `entry` in their order. */
export type EntryRow = readonly [
  id: number,
  parent: number,
  name: Uint8Array,
  root: Uint8Array | null,
  size: number,
  modified: number,
  created: number,
  revision: string,
]

/** The columns of `root`. */
export type RootRow = readonly [holder: string, cid: Uint8Array]

export interface TreeRecord {
  /** Milliseconds since 1970. */
  readonly time: number
  readonly entries: readonly CID[]
  readonly roots: readonly CID[]
}

interface NewBlock {
  readonly cid: CID
  readonly bytes: Uint8Array
}

/**
 * Yields the blocks of a record of the tree, and the record at last.
 *
 * @param connection in a transaction that fixes what it sees until the last block
 */
export function* recordBlocks(connection: DatabaseSync, time: number): Generator<NewBlock, TreeRecord> {
  const entries: CID[] = []
  const entriesFrom = connection.prepare('SELECT * FROM entry WHERE id >= ? ORDER BY id LIMIT ?')
  entriesFrom.setReturnArrays(true)
  for (let from = 0; ; ) {
    const found = entriesFrom.all(from, idsInPart) as unknown as EntryRow[]
    if (found[0] === undefined) break
    from = (Math.floor(found[0][0] / idsInPart) + 1) * idsInPart
    const part = blockOf({ rows: found.filter(([id]) => id < from) })
    entries.push(part.cid)
    yield part
  }
  const roots: CID[] = []
  const rootsAfter = connection.prepare(
    'SELECT holder, cid FROM root WHERE holder > ? AND holder <> ? ORDER BY holder LIMIT ?',
  )
  rootsAfter.setReturnArrays(true)
  for (let after = ''; ; ) {
    const rows = rootsAfter.all(after, treeHolder, rootsInPart) as unknown as RootRow[]
    const last = rows.at(-1)
    if (last === undefined) break
    after = last[0]
    const part = blockOf({ rows })
    roots.push(part.cid)
    yield part
  }
  return { time, entries, roots }
}

/** Returns the block that makes the parts a record. */
export function recordBlock(record: TreeRecord): NewBlock {
  return blockOf({ treeRecord: 1, ...record })
}

/** Returns the record that a block is; null if it is another block. */
export function recordOf(bytes: Uint8Array): TreeRecord | null {
  const value = dagCbor.decode<{ readonly treeRecord?: number } & TreeRecord>(bytes)
  return value.treeRecord === 1 ? value : null
}

/** Returns the rows of a part. */
export function rowsOf<Row>(bytes: Uint8Array): readonly Row[] {
  return dagCbor.decode<{ readonly rows: readonly Row[] }>(bytes).rows
}

/** Returns the parts to which a block of a record links. */
export function partsOf(bytes: Uint8Array): Uint8Array[] {
  const record = recordOf(bytes)
  return record === null ? [] : [...record.entries, ...record.roots].map((cid) => cid.bytes)
}

export function isSameTree(one: TreeRecord, other: TreeRecord): boolean {
  return String([one.entries, one.roots]) === String([other.entries, other.roots])
}

function blockOf(value: unknown): NewBlock {
  const bytes = dagCbor.encode(value)
  const digest = Digest.create(sha256.code, hash('sha256', bytes, 'buffer'))
  return { cid: CID.createV1(dagCbor.code, digest), bytes }
}
