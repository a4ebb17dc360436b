import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { TrialNode } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { type ManifestEntry, manifestEntries } from '../archive/manifest.ts'
import { Sample, type SampleRule } from '../archive/sample.ts'
import { type UserMount, userPathOf } from '../archive/user-files.ts'

/** A backup with the facts of its moment, and a node that was started on it. */
interface Comparison {
  readonly trial: Pick<TrialNode, 'fetch'>
  /** The path of the unpacked manifest. */
  readonly manifest: string
  /** The path of the unpacked `users.json`. */
  readonly users: string
  /** The ids of the plugins that worked. */
  readonly plugins: readonly string[]
  /** The paths at which each user sees their files. */
  readonly mounts: readonly UserMount[]
  /** The part of the backup that was restored. By default all of it. */
  readonly sample?: SampleRule
  readonly signal: AbortSignal
}

/** The numbers of things that were compared. */
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

type Listing = NodeAnswers['GET /api/files/list']
type ListedEntry = Listing['entries'][number]

type Expected = Pick<ManifestEntry, 'type' | 'size' | 'modified' | 'created' | 'sha256'>

/** The files and folders of one user, by the paths that the user sees. */
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
  const trees = await treesOf(comparison)
  for (const uuid of users.keys()) {
    if (!(await canSignIn(comparison, uuid))) continue
    const files = new UserFilesComparison(comparison, uuid, trees.get(uuid) ?? new Map())
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
  const { users } = await answerOf<NodeAnswers['GET /api/users']>(comparison, '/api/users', owner)
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
  const { plugins } = await answerOf<NodeAnswers['GET /api/system/plugins']>(
    comparison,
    '/api/system/plugins',
    owner,
  )
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

/** The files that each user must see, by their uuids. Each file and folder takes some 300 bytes of memory. */
async function treesOf({ manifest, mounts, sample: rule }: Comparison): Promise<Map<string, UserTree>> {
  const trees = new Map<string, UserTree>()
  const sample = rule && new Sample(rule)
  for await (const entry of manifestEntries(manifest)) {
    if (sample?.includes(entry) === false) continue
    const seen = userPathOf(entry.path, mounts)
    if (seen === null) continue
    const { uuid, path, mount } = seen
    const tree = trees.get(uuid) ?? new Map()
    trees.set(uuid, tree)
    const { type, size, modified, created, sha256 } = entry
    tree.set(path, {
      type,
      size,
      modified,
      ...(created !== undefined && { created }),
      ...(sha256 !== undefined && { sha256 }),
    })
    // A sample has no folders of its own.
    if (sample !== undefined) addFoldersAbove(path, mount, tree)
  }
  return trees
}

function addFoldersAbove(path: string, { point }: UserMount, tree: UserTree): void {
  for (let end = path.lastIndexOf('/'); end > point.length; end = path.lastIndexOf('/', end - 1))
    tree.set(path.slice(0, end), { type: 'directory', size: 0, modified: '' })
}

/** Compares the files of one user. */
class UserFilesComparison {
  files = 0
  bytes = 0
  readonly #comparison: Comparison
  readonly #uuid: string
  /** Files and folders that were not found yet. */
  readonly #missing: UserTree

  constructor(comparison: Comparison, uuid: string, expected: UserTree) {
    this.#comparison = comparison
    this.#uuid = uuid
    this.#missing = expected
  }

  async run(): Promise<void> {
    for (const { point, archived } of this.#comparison.mounts) if (archived !== null) await this.#walk(point)
    const [missing] = this.#missing
    if (missing === undefined) return
    const [path, { type }] = missing
    throw new NodeDiffers(`${type === 'file' ? 'the file' : 'the folder'} ${shown(path)} is missing`)
  }

  /** Compares everything of one mount. */
  async #walk(point: string): Promise<void> {
    const { mounts } = this.#comparison
    const folders = [point]
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for await (const entry of this.#list(folder)) {
        const path = `${folder}/${entry.name}`
        if (mounts.some((other) => other.point === path)) continue
        if (entry.type === 'file') await this.#compareFile(path, entry)
        else {
          const leadsToMount = mounts.some((other) => other.point.startsWith(`${path}/`))
          if (!this.#take(path, 'directory') && !leadsToMount)
            throw new NodeDiffers(`the backup has no folder ${shown(path)}`)
          folders.push(path)
        }
      }
    }
  }

  async *#list(folder: string): AsyncGenerator<ListedEntry, void, undefined> {
    let cursor: string | null = null
    do {
      const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const path = `/api/files/list?path=${encodeURIComponent(folder === '' ? '/' : folder)}${after}`
      const page: Listing = await answerOf<Listing>(this.#comparison, path, this.#uuid)
      yield* page.entries
      cursor = page.cursor
    } while (cursor !== null)
  }

  async #compareFile(path: string, { size = 0, modified, created }: ListedEntry): Promise<void> {
    const expected = this.#take(path, 'file')
    if (expected === null) throw new NodeDiffers(`the backup has no file ${shown(path)}`)
    if (size !== expected.size) throw new NodeDiffers(`the file ${shown(path)} has another size`)
    if (Date.parse(modified) !== Date.parse(expected.modified))
      throw new NodeDiffers(`the file ${shown(path)} has another time of modification`)
    if (created === undefined || Date.parse(created) !== Date.parse(expected.created ?? expected.modified))
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

  /** Finds what the backup has at a path, and marks it as found. */
  #take(path: string, type: 'file' | 'directory'): Expected | null {
    const found = this.#missing.get(path)
    if (found?.type !== type) return null
    this.#missing.delete(path)
    return found
  }
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
