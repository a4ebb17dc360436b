import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { RestoredIdentity } from './restored-identity.ts'

/** What a restore would change, for the person who decides. */
export interface RestoreDifferences {
  /** Names of users whom only the backup has. */
  readonly addedUsers: readonly string[]
  /** Names of users whom only the node has. Their accounts and files go away. */
  readonly removedUsers: readonly string[]
  /** The name of the owner; null without one. */
  readonly owner: { readonly present: string | null; readonly restored: string | null }
  /** The plugins whose state is another one, or that have a database of their own. */
  readonly plugins: readonly string[]
  readonly identity: RestoredIdentity
}

/** The state of a node in files: the one that it has, or one that was unpacked. */
interface StateFiles {
  /** The kernel's database. It may not exist. */
  readonly database: string
  /** The folder of the plugins' data. */
  readonly plugins: string
  /** Whether nothing can change the database. SQLite then makes no file beside it. */
  readonly isFixed: boolean
}

interface NamedUser {
  readonly uuid: string
  readonly username: string
  readonly owner: number | null
}

/** Rows that are compared in one turn of the event loop. */
const rowsPerTurn = 2000

/** Compares the state of a backup with that of the node. A node that was never started has no state: everything is new then. */
export async function differencesOf(
  present: StateFiles,
  restored: StateFiles,
): Promise<Omit<RestoreDifferences, 'identity'>> {
  using now = openState(present)
  using then = openState(restored)
  const [nowUsers, thenUsers] = [usersOf(now), usersOf(then)]
  const missingIn = (others: readonly NamedUser[]) => {
    const known = new Set(others.map(({ uuid }) => uuid))
    return (users: readonly NamedUser[]) =>
      users.filter(({ uuid }) => !known.has(uuid)).map(({ username }) => username)
  }
  const ownerOf = (users: readonly NamedUser[]) => users.find(({ owner }) => owner !== null)?.username ?? null
  const plugins = new Set([
    ...(await differingStates(now, then)),
    ...(await withDatabases(present.plugins)),
    ...(await withDatabases(restored.plugins)),
  ])
  return {
    addedUsers: missingIn(nowUsers)(thenUsers),
    removedUsers: missingIn(thenUsers)(nowUsers),
    owner: { present: ownerOf(nowUsers), restored: ownerOf(thenUsers) },
    plugins: [...plugins].sort(),
  }
}

function openState({ database, isFixed }: StateFiles): DatabaseSync {
  if (!existsSync(database)) return new DatabaseSync(':memory:')
  const url = pathToFileURL(database)
  if (isFixed) url.search = '?immutable=1'
  return new DatabaseSync(url, { readOnly: true })
}

function hasTable(database: DatabaseSync, table: string): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined
}

function usersOf(database: DatabaseSync): NamedUser[] {
  if (!hasTable(database, 'users')) return []
  const rows = database.prepare('SELECT uuid, username, owner FROM users ORDER BY username').all()
  return rows as unknown as NamedUser[]
}

/** Walks through the entries of both states, which are sorted, side by side. */
async function differingStates(now: DatabaseSync, then: DatabaseSync): Promise<Set<string>> {
  const [a, b] = [entriesOf(now), entriesOf(then)]
  const differing = new Set<string>()
  let [left, right] = [a.next().value, b.next().value]
  for (let count = 1; left !== undefined || right !== undefined; count++) {
    if (count % rowsPerTurn === 0) await nextTurn()
    const order = left === undefined ? 1 : right === undefined ? -1 : compare(left, right)
    const [entry] = order > 0 ? [right] : [left]
    if (entry !== undefined && (order !== 0 || left?.value !== right?.value)) differing.add(entry.namespace)
    if (order <= 0) left = a.next().value
    if (order >= 0) right = b.next().value
  }
  return differing
}

interface StateEntry {
  readonly namespace: string
  readonly key: string
  readonly value: string
}

function* entriesOf(database: DatabaseSync): Generator<StateEntry, undefined, undefined> {
  if (!hasTable(database, 'state')) return
  // An entry that expires is another one each time. Names with @ belong to the kernel, and to no plugin.
  const all = database.prepare(
    "SELECT namespace, key, value FROM state WHERE expires IS NULL AND namespace NOT LIKE '@%' ORDER BY namespace, key",
  )
  for (const row of all.iterate()) yield row as unknown as StateEntry
}

/** In the order of SQLite: by bytes of UTF-8. */
function compare(a: StateEntry, b: StateEntry): number {
  return (
    Buffer.compare(Buffer.from(a.namespace), Buffer.from(b.namespace)) ||
    Buffer.compare(Buffer.from(a.key), Buffer.from(b.key))
  )
}

async function withDatabases(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const plugins: string[] = []
  for (const plugin of await readdir(folder, { withFileTypes: true })) {
    if (!plugin.isDirectory()) continue
    const names = await readdir(join(folder, plugin.name))
    if (names.some((name) => name.endsWith('.sqlite'))) plugins.push(plugin.name)
  }
  return plugins
}
