import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { isDamage } from '@nodekeep/plugin-sdk/data-folder'
import type { RestoredIdentity } from './restored-identity.ts'

/** A user, and the wallet with which they sign in. */
export interface KnownUser {
  readonly username: string
  readonly wallet: string
}

/** A user of both sides who has another name or another wallet. */
interface ChangedUser {
  readonly present: KnownUser
  readonly restored: KnownUser
}

/** The changes that a restore would make, for the person who decides. */
export interface RestoreDifferences {
  /** Names of users whom only the backup has. */
  readonly addedUsers: Excerpt<string>
  /** Names of users whom only the node has. Their accounts and files go away. */
  readonly removedUsers: Excerpt<string>
  /** Somebody else may sign in as them after the restore. */
  readonly changedUsers: Excerpt<ChangedUser>
  /** Null without an owner. */
  readonly owner: { readonly present: KnownUser | null; readonly restored: KnownUser | null }
  /** The plugins whose state is another one, or that have data of their own on either side, which the restore replaces. */
  readonly plugins: Excerpt<string>
  readonly identity: RestoredIdentity
}

/** The beginning of a list that may be long: a backup decides how many users it has. */
export interface Excerpt<Item> {
  /** The length of the whole list. */
  readonly count: number
  /** The first items, at most {@link maxListed}. */
  readonly first: Item[]
}

/** Items that a person reads in one line. */
export const maxListed = 100

/** An excerpt of a list that grows. */
class GrowingExcerpt<Item> implements Excerpt<Item> {
  count = 0
  readonly first: Item[] = []

  add(item: Item): void {
    this.count += 1
    if (this.first.length < maxListed) this.first.push(item)
  }
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

/** Rows that are compared in one turn of the event loop. */
const rowsPerTurn = 2000

/**
 * Compares the state of a backup with that of the node. A node that was never started has no state, and a damaged one
 * shows nothing: everything is new then.
 */
export async function differencesOf(
  present: StateFiles,
  restored: StateFiles,
): Promise<Omit<RestoreDifferences, 'identity'>> {
  const withOwnData = new Set([
    ...(await pluginsWithData(present.plugins)),
    ...(await pluginsWithData(restored.plugins)),
  ])
  using then = openState(restored)
  using now = openState(present)
  try {
    return await compare(now, then, withOwnData)
  } catch (error) {
    if (!isDamage(error)) throw error
    using nothing = new DatabaseSync(':memory:')
    return await compare(nothing, then, withOwnData)
  }
}

async function compare(
  now: DatabaseSync,
  then: DatabaseSync,
  withOwnData: ReadonlySet<string>,
): Promise<Omit<RestoreDifferences, 'identity'>> {
  const plugins = new Set([...(await differingStates(now, then)), ...withOwnData])
  return {
    ...(await differingUsers(now, then)),
    owner: { present: ownerOf(now), restored: ownerOf(then) },
    plugins: { count: plugins.size, first: [...plugins].sort().slice(0, maxListed) },
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

function ownerOf(database: DatabaseSync): KnownUser | null {
  if (!hasTable(database, 'users')) return null
  const owner = database.prepare('SELECT username, wallet FROM users WHERE owner IS NOT NULL').get()
  return owner === undefined ? null : { username: String(owner.username), wallet: String(owner.wallet) }
}

interface UserRow extends KnownUser {
  readonly uuid: string
}

async function differingUsers(
  now: DatabaseSync,
  then: DatabaseSync,
): Promise<Pick<RestoreDifferences, 'addedUsers' | 'removedUsers' | 'changedUsers'>> {
  const all = 'SELECT uuid, username, wallet FROM users ORDER BY uuid'
  const rows = (database: DatabaseSync) => rowsOf<UserRow>(database, 'users', all)
  const addedUsers = new GrowingExcerpt<string>()
  const removedUsers = new GrowingExcerpt<string>()
  const changedUsers = new GrowingExcerpt<ChangedUser>()
  const byUuid = (a: UserRow, b: UserRow) => compareText(a.uuid, b.uuid)
  for await (const [left, right] of sideBySide(rows(now), rows(then), byUuid)) {
    if (left === undefined) addedUsers.add((right as UserRow).username)
    else if (right === undefined) removedUsers.add(left.username)
    else if (left.username !== right.username || !isSameWallet(left, right))
      changedUsers.add({ present: knownUser(left), restored: knownUser(right) })
  }
  for (const { first } of [addedUsers, removedUsers]) first.sort()
  return { addedUsers, removedUsers, changedUsers }
}

function knownUser({ username, wallet }: UserRow): KnownUser {
  return { username, wallet }
}

/** Whether two users sign in with the same wallet. The case of its digits is a checksum. */
export function isSameWallet(a: KnownUser, b: KnownUser): boolean {
  return a.wallet.toLowerCase() === b.wallet.toLowerCase()
}

interface StateRow {
  readonly namespace: string
  readonly key: string
  readonly value: string
}

/** The namespaces of plugins in which an entry is another one. */
async function differingStates(now: DatabaseSync, then: DatabaseSync): Promise<Set<string>> {
  // An entry that expires is another one each time. Names with @ belong to the kernel, and to no plugin.
  const all =
    "SELECT namespace, key, value FROM state WHERE expires IS NULL AND namespace NOT LIKE '@%' ORDER BY namespace, key"
  const rows = (database: DatabaseSync) => rowsOf<StateRow>(database, 'state', all)
  const byKey = (a: StateRow, b: StateRow) =>
    compareText(a.namespace, b.namespace) || compareText(a.key, b.key)
  const differing = new Set<string>()
  for await (const [left, right] of sideBySide(rows(now), rows(then), byKey)) {
    if (left?.value !== right?.value) differing.add((left ?? (right as StateRow)).namespace)
  }
  return differing
}

type Rows<Row> = Iterator<Row, undefined>

function* rowsOf<Row>(
  database: DatabaseSync,
  table: string,
  statement: string,
): Generator<Row, undefined, undefined> {
  if (!hasTable(database, table)) return
  for (const row of database.prepare(statement).iterate()) yield row as unknown as Row
}

/**
 * Walks through the sorted rows of both databases, side by side, and lets other work run in between.
 *
 * @yields the rows that are equal by `compare`, or a row of one database that the other one does not have
 */
async function* sideBySide<Row>(
  present: Rows<Row>,
  restored: Rows<Row>,
  compare: (a: Row, b: Row) => number,
): AsyncGenerator<readonly [present: Row | undefined, restored: Row | undefined], void, undefined> {
  let [left, right] = [present.next().value, restored.next().value]
  for (let count = 1; left !== undefined || right !== undefined; count++) {
    if (count % rowsPerTurn === 0) await nextTurn()
    const order = left === undefined ? 1 : right === undefined ? -1 : compare(left, right)
    yield [order <= 0 ? left : undefined, order >= 0 ? right : undefined]
    if (order <= 0) left = present.next().value
    if (order >= 0) right = restored.next().value
  }
}

/** In the order of SQLite: by bytes of UTF-8. */
function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

/** The plugins that have databases, files, or data of a backup that they take at the next start. Caches and journals do not count. */
async function pluginsWithData(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const plugins: string[] = []
  for (const plugin of await readdir(folder, { withFileTypes: true })) {
    if (!plugin.isDirectory()) continue
    const names = await readdir(join(folder, plugin.name))
    if (names.some((name) => name !== 'not-in-backups')) plugins.push(plugin.name)
  }
  return plugins
}
