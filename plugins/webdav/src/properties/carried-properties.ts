import { setImmediate as nextTurn } from 'node:timers/promises'
import { nameOf, parentOf } from '@nodekeep/plugin-sdk'
import { isBelow } from '../dav-paths.ts'
import type { DavRequest } from '../dav-request.ts'

/** An entry with properties, and its place in what is copied or moved: empty for that itself, otherwise such as `/a/b`. */
interface CarriedEntry {
  readonly id: string
  readonly place: string
}

/** Entries that are looked up in one turn of the event loop. */
const turnSize = 100

/** The id of the entry at a path; null if the index has none. */
export async function entryIdAt({ index }: Pick<DavRequest, 'index'>, path: string): Promise<string | null> {
  if (path === '/') return null
  const name = nameOf(path)
  return (await index.named(parentOf(path), [name])).get(name)?.id ?? null
}

/** The entries with properties at a path and below it. Call it before a copy or a move. */
export async function carriedFrom(
  { services, user, index }: DavRequest,
  path: string,
): Promise<readonly CarriedEntry[]> {
  const found: CarriedEntry[] = []
  for (const [count, id] of services.properties.entriesOf(user.uuid).entries()) {
    if (count % turnSize === turnSize - 1) await nextTurn()
    const entry = await index.entry(id)
    if (entry !== null && (entry.path === path || isBelow(entry.path, path)))
      found.push({ id, place: entry.path.slice(path.length) })
  }
  return found
}

/**
 * Gives the copied or moved entries their properties (RFC 4918, sections 9.8.2 and 9.9.1). Most moves keep the id of an entry, and so its
 * properties: those to another storage do not.
 */
export async function carryTo(
  dav: DavRequest,
  path: string,
  carried: readonly CarriedEntry[],
): Promise<void> {
  const { services, user } = dav
  const { properties } = services
  if (!properties.hasAny(user.uuid)) return
  const own = await entryIdAt(dav, path)
  // A file that is replaced keeps its id.
  if (own !== null && !carried.some(({ id, place }) => place === '' || id === own))
    properties.clear(user.uuid, own)
  for (const [count, { id, place }] of carried.entries()) {
    if (count % turnSize === turnSize - 1) await nextTurn()
    const to = place === '' ? own : await entryIdAt(dav, `${path}${place}`)
    if (to !== null && to !== id) properties.copy(user.uuid, id, to)
  }
}
