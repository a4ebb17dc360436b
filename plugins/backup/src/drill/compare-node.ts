import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { TrialNode } from '@nodekeep/plugin-sdk'
import { type ManifestEntry, manifestEntries } from '../archive/manifest.ts'

/** What a backup says about its moment, and a node that was started on it. */
interface Comparison {
  readonly trial: Pick<TrialNode, 'fetch'>
  /** The path of the unpacked manifest. */
  readonly manifest: string
  /** The path of the unpacked `users.json`. */
  readonly users: string
  /** The ids of the plugins that worked. */
  readonly plugins: readonly string[]
  /** Storages whose files were not restored. */
  readonly without: readonly string[]
  /** Whether the node may have files that the backup left out. */
  readonly isPartial: boolean
  readonly signal: AbortSignal
}

/** What was compared. */
export interface ComparedNode {
  readonly users: number
  readonly files: number
  /** Bytes of the files. */
  readonly bytes: number
}

interface NodeUser {
  readonly username: string
  readonly wallet: string
  readonly owner: boolean
}

/** An entry of `GET /api/files/list`. */
interface ListedEntry {
  readonly name: string
  readonly type: 'file' | 'directory'
  readonly size?: number
  readonly modified: string
  readonly created: string
}

type Expected = Pick<ManifestEntry, 'type' | 'size' | 'modified' | 'created' | 'sha256'>

/** The content of one user on one storage, by paths that begin with a slash. */
type UserTree = Map<string, Expected>

/** A node differs from its backup. The message says where, for the owner. */
class NodeDiffers extends Error {}

/**
 * Compares a node with the backup that was restored into it, through its API: users, plugins, and of each file the path, size,
 * times and content. Files of users who may not sign in are out of reach.
 *
 * @throws NodeDiffers with the first difference; the signal's reason
 */
export async function compareNode(comparison: Comparison): Promise<ComparedNode> {
  const { trial, signal } = comparison
  const users = new Map(Object.entries(JSON.parse(await readFile(comparison.users, 'utf8')) as NodeUsers))
  const health = await trial.fetch('/health', { signal })
  await health.body?.cancel()
  if (!health.ok) throw new NodeDiffers('the restored node is not healthy')
  const [owner] = [...users].find(([, user]) => user.owner) ?? []
  if (owner !== undefined) {
    await compareUsers(comparison, owner, users)
    await comparePlugins(comparison, owner)
  }
  const compared = { users: users.size, files: 0, bytes: 0 }
  const points = new Map<string, string>()
  for (const uuid of users.keys()) {
    if (!(await canSignIn(comparison, uuid))) continue
    const expected = await treesOf(comparison, uuid)
    if (expected.size === 0) continue
    const files = new UserFilesComparison(comparison, uuid, { expected, points })
    await files.run()
    compared.files += files.files
    compared.bytes += files.bytes
  }
  return compared
}

type NodeUsers = Readonly<Record<string, NodeUser>>

async function compareUsers(
  comparison: Comparison,
  owner: string,
  expected: ReadonlyMap<string, NodeUser>,
): Promise<void> {
  const { users } = await answerOf<{ users: (NodeUser & { uuid: string })[] }>(
    comparison,
    '/api/users',
    owner,
  )
  const found = new Map(users.map((user) => [user.uuid, user]))
  for (const [uuid, user] of expected) {
    const other = found.get(uuid)
    if (other === undefined) throw new NodeDiffers(`the user ${user.username} is missing`)
    for (const key of ['username', 'wallet', 'owner'] as const) {
      if (other[key] !== user[key]) throw new NodeDiffers(`the user ${user.username} has another ${key}`)
    }
  }
  const added = users.find(({ uuid }) => !expected.has(uuid))
  if (added !== undefined)
    throw new NodeDiffers(`there is a user ${added.username} whom the backup does not list`)
}

async function comparePlugins(comparison: Comparison, owner: string): Promise<void> {
  type Plugins = { plugins: { id: string; state: string; reason: string | null }[] }
  const { plugins } = await answerOf<Plugins>(comparison, '/api/system/plugins', owner)
  for (const id of comparison.plugins) {
    const plugin = plugins.find((one) => one.id === id)
    if (plugin === undefined) throw new NodeDiffers(`the plugin "${id}" is missing`)
    if (plugin.state === 'active' || plugin.state === 'degraded') continue
    throw new NodeDiffers(`the plugin "${id}" is ${plugin.state}${plugin.reason ? `: ${plugin.reason}` : ''}`)
  }
}

/** Users who are disabled, or whom the configuration does not admit, have no sessions. */
async function canSignIn({ trial, signal }: Comparison, uuid: string): Promise<boolean> {
  const answer = await trial.fetch('/whoami', { as: uuid, signal })
  const body = (await answer.json()) as { user?: { authenticated?: boolean } }
  return answer.ok && body.user?.authenticated === true
}

/** The user's content by the names of the storages. One user at a time is kept in memory. */
async function treesOf({ manifest, without }: Comparison, uuid: string): Promise<Map<string, UserTree>> {
  const trees = new Map<string, UserTree>()
  for await (const { path, type, size, modified, created, sha256 } of manifestEntries(manifest)) {
    const [part, storage = '', user, ...names] = path.split('/')
    if (part !== 'files' || user !== uuid || names.length === 0 || without.includes(storage)) continue
    const tree = trees.get(storage) ?? new Map<string, Expected>()
    trees.set(storage, tree)
    tree.set(`/${names.join('/')}`, {
      type,
      size,
      modified,
      ...(created !== undefined && { created }),
      ...(sha256 !== undefined && { sha256 }),
    })
  }
  return trees
}

/**
 * Compares the files of one user. An archive has a tree for each storage, and the user sees one tree: the storages' mount points are
 * found by the files that both have.
 */
class UserFilesComparison {
  files = 0
  bytes = 0
  readonly #comparison: Comparison
  readonly #uuid: string
  readonly #expected: ReadonlyMap<string, UserTree>
  /** The mount points of storages, `''` for the root. They are the same for all users. */
  readonly #points: Map<string, string>
  readonly #folders = new Set<string>()

  constructor(
    comparison: Comparison,
    uuid: string,
    known: { readonly expected: ReadonlyMap<string, UserTree>; readonly points: Map<string, string> },
  ) {
    this.#comparison = comparison
    this.#uuid = uuid
    this.#expected = known.expected
    this.#points = known.points
  }

  async run(): Promise<void> {
    const folders = ['']
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for await (const entry of this.#list(folder)) {
        const path = `${folder}/${entry.name}`
        if (entry.type === 'file') await this.#compareFile(path, entry)
        else {
          folders.push(path)
          this.#folders.add(path)
        }
      }
    }
    for (const [storage, tree] of this.#expected) {
      for (const [rest, { type }] of tree) this.#expectThere(storage, rest, type)
    }
  }

  async *#list(folder: string): AsyncGenerator<ListedEntry, void, undefined> {
    let cursor: string | null = null
    do {
      const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const path = `/api/files/list?path=${encodeURIComponent(folder === '' ? '/' : folder)}${after}`
      const page = await answerOf<ListedPage>(this.#comparison, path, this.#uuid)
      yield* page.entries
      cursor = page.cursor
    } while (cursor !== null)
  }

  async #compareFile(path: string, { size = 0, modified, created }: ListedEntry): Promise<void> {
    const expected = this.#take(path, size)
    if (expected === null && this.#comparison.isPartial) return
    if (expected === null) throw new NodeDiffers(`the backup has no file ${shown(path)} of this size`)
    if (Date.parse(modified) !== Date.parse(expected.modified))
      throw new NodeDiffers(`the file ${shown(path)} has another time of modification`)
    if (Date.parse(created) !== Date.parse(expected.created ?? expected.modified))
      throw new NodeDiffers(`the file ${shown(path)} has another date of creation`)
    if ((await this.#hashOf(path)) !== expected.sha256)
      throw new NodeDiffers(`the file ${shown(path)} has another content`)
    this.files += 1
    this.bytes += size
  }

  async #hashOf(path: string): Promise<string> {
    const { trial, signal } = this.#comparison
    const answer = await trial.fetch(`/read?path=${encodeURIComponent(path)}`, { as: this.#uuid, signal })
    if (!answer.ok || answer.body === null) throw new NodeDiffers(`the file ${shown(path)} cannot be read`)
    const hash = createHash('sha256')
    for await (const chunk of answer.body) hash.update(chunk)
    return hash.digest('hex')
  }

  /** Finds the file of the backup that is at a path of the user, and marks it as found. */
  #take(path: string, size: number): Expected | null {
    const known = [...this.#points].sort(([, a], [, b]) => b.length - a.length)
    for (const [storage, point] of known) {
      if (!path.startsWith(`${point}/`)) continue
      const found = this.#fits(storage, path.slice(point.length), size)
      if (found !== null) return found
    }
    for (const storage of this.#expected.keys()) {
      if (this.#points.has(storage)) continue
      for (let at = 0; at >= 0; at = path.indexOf('/', at + 1)) {
        const found = this.#fits(storage, path.slice(at), size)
        if (found === null) continue
        this.#points.set(storage, path.slice(0, at))
        return found
      }
    }
    return null
  }

  #fits(storage: string, rest: string, size: number): Expected | null {
    const tree = this.#expected.get(storage)
    const found = tree?.get(rest)
    if (found?.type !== 'file' || found.size !== size) return null
    tree?.delete(rest)
    return found
  }

  #expectThere(storage: string, rest: string, type: 'file' | 'directory'): void {
    const point = this.#points.get(storage)
    if (type === 'directory') {
      const folders = [...(point === undefined ? this.#folders : [])]
      if (point === undefined ? folders.some((path) => path.endsWith(rest)) : this.#folders.has(point + rest))
        return
    }
    const path = (point ?? '') + rest
    const isHidden = [...this.#points].some(
      ([other, inner]) =>
        other !== storage && inner.length > (point ?? '').length && path.startsWith(`${inner}/`),
    )
    if (!isHidden)
      throw new NodeDiffers(`${type === 'file' ? 'the file' : 'the folder'} ${shown(path)} is missing`)
  }
}

interface ListedPage {
  readonly entries: readonly ListedEntry[]
  readonly cursor: string | null
}

function shown(path: string): string {
  return JSON.stringify(path.slice(0, 200))
}

async function answerOf<T>({ trial, signal }: Comparison, path: string, user: string): Promise<T> {
  const answer = await trial.fetch(path, { as: user, signal })
  const body = (await answer.json()) as T & { message?: string }
  if (!answer.ok)
    throw new NodeDiffers(`the restored node refuses a request: ${body.message ?? answer.status}`)
  return body
}
