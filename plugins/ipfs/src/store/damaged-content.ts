import { setImmediate } from 'node:timers/promises'
import * as dagPb from '@ipld/dag-pb'
import { CID } from 'multiformats/cid'
import { nameFrom, rootId } from '../entries/entry-names.ts'
import { linksOf } from './links.ts'
import { DamagedBlock, type StoreView } from './store-view.ts'

/** Rows that are read at once. */
const rowsAtOnce = 1000

/** A damaged block, and what contains it. */
export interface DamagedContent {
  readonly cid: CID
  /** Of the entries of the tree. */
  readonly paths: readonly string[]
  /** Of the roots. */
  readonly holders: readonly string[]
}

/**
 * Finds the entries and roots that contain damaged blocks. It reads the DAG-PB blocks only, once for each level of the blocks that
 * contain one.
 *
 * @throws the reason of the signal
 */
export async function pathsOfDamage(
  view: StoreView,
  damaged: readonly CID[],
  signal?: AbortSignal,
): Promise<DamagedContent[]> {
  if (damaged.length === 0) return []
  const within = await blocksAbove(view, damaged, signal)
  const found = new Map(
    damaged.map((cid) => [`${cid}`, { cid, paths: [] as string[], holders: [] as string[] }]),
  )
  const foundIn = (root: Uint8Array) =>
    [...(within.get(`${CID.decode(root)}`) ?? [])].map((cid) => found.get(cid))
  const entries = view.connection.prepare(
    'SELECT id, root FROM entry WHERE id > ? AND root IS NOT NULL ORDER BY id LIMIT ?',
  )
  for await (const { id, root } of inSteps(
    (last) => entries.all(Number(last?.id ?? 0), rowsAtOnce),
    signal,
  )) {
    const contained = foundIn(root as Uint8Array)
    const path = contained.length > 0 ? pathOf(view, Number(id)) : null
    if (path !== null) for (const content of contained) content?.paths.push(path)
  }
  const roots = view.connection.prepare(
    'SELECT holder, cid FROM root WHERE holder > ? ORDER BY holder LIMIT ?',
  )
  for await (const { holder, cid } of inSteps(
    (last) => roots.all(String(last?.holder ?? ''), rowsAtOnce),
    signal,
  ))
    for (const content of foundIn(cid as Uint8Array)) content?.holders.push(String(holder))
  return [...found.values()]
}

/** Returns for each block that is damaged, or has one below it, the damaged ones. */
async function blocksAbove(
  view: StoreView,
  damaged: readonly CID[],
  signal?: AbortSignal,
): Promise<Map<string, Set<string>>> {
  const within = new Map(damaged.map((cid) => [`${cid}`, new Set([`${cid}`])]))
  const first = Uint8Array.of(1, dagPb.code)
  const nodes = view.connection.prepare(
    'SELECT cid FROM block WHERE cid > ? AND cid < ? AND pack > 0 ORDER BY cid LIMIT ?',
  )
  const end = Uint8Array.of(1, dagPb.code + 1)
  for (let isGrowing = true; isGrowing; ) {
    isGrowing = false
    const listed = (last?: Row) => nodes.all((last?.cid as Uint8Array | undefined) ?? first, end, rowsAtOnce)
    for await (const { cid } of inSteps(listed, signal)) {
      const node = CID.decode(cid as Uint8Array)
      const below = within.get(`${node}`) ?? new Set()
      const before = below.size
      for (const link of await linksOfNode(view, node))
        for (const one of within.get(`${CID.decode(link)}`) ?? []) below.add(one)
      if (below.size === before) continue
      within.set(`${node}`, below)
      isGrowing = true
    }
  }
  return within
}

async function linksOfNode(view: StoreView, cid: CID): Promise<Uint8Array[]> {
  try {
    return linksOf(cid.bytes, await view.get(cid))
  } catch (error) {
    if (error instanceof DamagedBlock) return []
    throw error
  }
}

type Row = Record<string, unknown>

/** Yields rows, some hundreds at a time, so that others have their turns. */
async function* inSteps(list: (last?: Row) => Row[], signal?: AbortSignal): AsyncGenerator<Row> {
  for (let last: Row | undefined; ; ) {
    const rows = list(last)
    yield* rows
    last = rows.at(-1)
    if (rows.length < rowsAtOnce) return
    await setImmediate()
    signal?.throwIfAborted()
  }
}

/** Returns the path of an entry; null if it was removed. */
function pathOf(view: StoreView, id: number): string | null {
  const find = view.connection.prepare('SELECT parent, name FROM entry WHERE id = ?')
  const names: string[] = []
  for (let at = id; at !== rootId; ) {
    const row = find.get(at)
    if (row === undefined || Number(row.parent) === 0) return null
    names.unshift(nameFrom(row.name as Uint8Array))
    at = Number(row.parent)
  }
  return `/${names.join('/')}`
}
