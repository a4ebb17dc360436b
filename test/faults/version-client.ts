import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileChange } from '@nodekeep/plugin-sdk'
import { replay, sorted } from './files-check.ts'
import { type Change, changed, type Tree } from './files-tree.ts'
import type { Random } from './random.ts'

/** A user of a node, as `nodekeep session create` signs them in. */
export interface SignedInUser {
  readonly uuid: string
  readonly token: string
}

interface Entry {
  readonly path: string
  readonly type: 'file' | 'directory'
  readonly size?: number
}

interface Token {
  readonly id: string
  readonly name: string
}

/** A change in the feed, without the hash of its content, which the node may find out later. */
type FedChange = Omit<FileChange, 'seq' | 'hash'>

/** Everything that the node tells a user about files, tokens and sessions. Versions must agree on it. */
export interface UserView {
  /** With dates and revisions, by path. */
  readonly entries: readonly Entry[]
  /** All changes since the client began, oldest first. */
  readonly changes: readonly FedChange[]
  readonly tokens: readonly Token[]
  readonly sessions: readonly object[]
}

/** Tokens that a client has at a time. */
const mostTokens = 10

/** A user who makes random changes, one after the other, and knows what the node must have. */
export class VersionClient {
  readonly #url: URL
  readonly #user: SignedInUser
  readonly #random: Random
  readonly #start: string
  /** The files of the user. */
  #tree: Tree = new Map()
  /** The secrets of the API tokens, by id. */
  readonly #tokens = new Map<string, string>()
  #count = 0

  private constructor(url: URL, user: SignedInUser, random: Random, start: string) {
    this.#url = url
    this.#user = user
    this.#random = random
    this.#start = start
  }

  /** Begins with a user who has no files. */
  static async begin(url: URL, user: SignedInUser, random: Random): Promise<VersionClient> {
    const { cursor } = await ask<{ cursor: string }>(url, user.token, '/api/files/changes')
    return new VersionClient(url, user, random, cursor)
  }

  /** Makes random changes. */
  async change(count: number): Promise<void> {
    for (let made = 0; made < count; made += 1) {
      if (this.#random.chance(0.1)) await this.#changeTokens()
      else await this.#changeFiles()
    }
  }

  /** Writes a file past the node, and waits until the feed tells of it. */
  async writeOutside(data: string): Promise<void> {
    const path = `/outside-${this.#count++}`
    const { cursor } = await this.#ask<{ cursor: string }>('/api/files/changes')
    await writeFile(join(data, 'files', this.#user.uuid, path), path)
    this.#tree = new Map([...this.#tree, [path, path]])
    for (let after = cursor; ; ) {
      const page = await this.#ask<{ cursor: string; changes: FedChange[] }>(
        `/api/files/changes?wait=50&after=${after}`,
      )
      assert.ok(page.changes.length > 0, 'the node does not notice other programs')
      if (page.changes.some((change) => change.path === path && change.by === 'disk')) return
      after = page.cursor
    }
  }

  /** Reads everything, and checks that it is what the client expects. */
  async view(): Promise<UserView> {
    const entries = await this.#list('')
    const sizes = new Map(entries.map(({ path, size }) => [path, size ?? null]))
    const expected = new Map([...this.#tree].map(([path, content]) => [path, content?.length ?? null]))
    assert.deepEqual(sorted(sizes), sorted(expected), 'the listings have other files')
    for (const [path, content] of this.#tree) {
      if (content === null) continue
      const headers = { authorization: `Bearer ${this.#user.token}` }
      const answer = await fetch(new URL(`/read?path=${path}`, this.#url), { headers })
      assert.equal(await answer.text(), content, path)
    }
    const changes = await this.#changes()
    const byOthers = changes.filter(({ by, path }) => by === 'disk' && !path.startsWith('/outside-'))
    assert.deepEqual(byOthers, [], 'the feed has changes that nobody made')
    assert.deepEqual(sorted(replay(changes)), sorted(expected), 'the feed adds up to other files')

    const { tokens } = await this.#ask<{ tokens: Token[] }>('/api/account/tokens')
    assert.deepEqual(tokens.map(({ id }) => id).sort(), [...this.#tokens.keys()].sort())
    for (const token of this.#tokens.values()) await ask(this.#url, token, '/readdir?path=/')
    const { sessions } = await this.#ask<{ sessions: object[] }>('/api/account/sessions')
    return { entries, changes, tokens: tokens.map(unused), sessions: sessions.map(unused) }
  }

  async #changeTokens(): Promise<void> {
    const known = [...this.#tokens.keys()]
    const [first, ...others] = known
    if (first !== undefined && (known.length >= mostTokens || this.#random.chance(0.5))) {
      const id = this.#random.pick([first, ...others])
      await this.#ask(`/api/account/tokens/${id}`, { method: 'DELETE' })
      this.#tokens.delete(id)
      return
    }
    const body = { name: `token ${this.#count++}`, scopes: ['files:read'], expiryDays: null }
    const made = await this.#send<{ token: string; details: Token }>('/api/account/tokens', body)
    this.#tokens.set(made.details.id, made.token)
  }

  async #changeFiles(): Promise<void> {
    const random = this.#random
    for (;;) {
      const op = random.pick(['write', 'write', 'write', 'mkdir', 'move', 'copy', 'delete'])
      const [path, source] = [this.#path(), this.#path()]
      const next =
        op === 'copy' ? this.#copied(source, path) : changed(this.#tree, this.#drawn(op, path, source))
      if (next === null) continue
      const content = next.get(path) ?? ''
      if (op === 'write') await this.#ask(`/write?path=${path}`, { method: 'PUT', body: content })
      else if (op === 'mkdir' || op === 'delete') await this.#send(`/${op}`, { path })
      else {
        const target = op === 'move' ? '/move' : '/api/files/copy'
        await this.#send(target, { source, destination: path, overwrite: true })
      }
      this.#tree = next
      return
    }
  }

  #drawn(op: string, path: string, source: string): Change {
    if (op === 'move') return { op, path, source }
    if (op === 'mkdir' || op === 'delete') return { op, path }
    const size = this.#random.chance(0.02) ? 100_000 : this.#random.integer(0, 500)
    const content = `${this.#count++} ${path} `.repeat(100_000).slice(0, size)
    return { op: 'write', path, content, asForm: false }
  }

  /** The tree after a copy, which is a move that leaves its source. */
  #copied(source: string, path: string): Tree | null {
    const moved = changed(this.#tree, { op: 'move', path, source })
    if (moved === null) return null
    const left = [...this.#tree].filter(([key]) => key === source || key.startsWith(`${source}/`))
    return new Map([...moved, ...left])
  }

  #path(): string {
    const names = Array.from({ length: this.#random.integer(1, 3) }, () => this.#random.pick(['a', 'b', 'c']))
    return `/${names.join('/')}`
  }

  async #list(folder: string): Promise<Entry[]> {
    const { entries } = await this.#ask<{ entries: { name: string; type: Entry['type'] }[] }>(
      `/api/files/list?path=${folder || '/'}&limit=10000`,
    )
    const found: Entry[] = []
    for (const { name, ...entry } of entries) {
      const path = `${folder}/${name}`
      found.push({ path, ...entry })
      if (entry.type === 'directory') found.push(...(await this.#list(path)))
    }
    return found
  }

  async #changes(): Promise<FedChange[]> {
    const found: FedChange[] = []
    for (let after = this.#start; ; ) {
      const page = await this.#ask<{ reset?: true; changes: FedChange[]; cursor: string }>(
        `/api/files/changes?after=${after}`,
      )
      assert.notEqual(page.reset, true, 'a cursor is not valid any more')
      if (page.changes.length === 0) return found
      found.push(...page.changes.map(withoutHash))
      after = page.cursor
    }
  }

  #send<T>(path: string, body: object): Promise<T> {
    const headers = { 'content-type': 'application/json' }
    return this.#ask<T>(path, { method: 'POST', body: JSON.stringify(body), headers })
  }

  #ask<T>(path: string, init: RequestInit = {}): Promise<T> {
    return ask<T>(this.#url, this.#user.token, path, init)
  }
}

/** @throws AssertionError unless the answer is 200 */
export async function ask<T>(url: URL, token: string, path: string, init: RequestInit = {}): Promise<T> {
  const headers = { ...init.headers, authorization: `Bearer ${token}` }
  const answer = await fetch(new URL(path, url), { ...init, headers })
  const text = await answer.text()
  assert.equal(answer.status, 200, `${init.method ?? 'GET'} ${path}: ${text.slice(0, 500)}`)
  return JSON.parse(text)
}

function withoutHash({ hash: _, ...change }: FedChange & { readonly hash?: string }): FedChange {
  return change
}

/** Leaves out when a session or token was used last, which reading it changes. */
function unused<T extends object>({ ...record }: T): T {
  return { ...record, lastUsed: null }
}
