import assert from 'node:assert/strict'
import { createTestNode, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { Round } from './fault.ts'
import { isWithin, parentOf, WebdavTree } from './webdav-tree.ts'

/** Requests of one round. */
const steps = 120

const names = ['a', 'b', 'ü & 100%'] as const

/** The statuses with which a request may be refused and, unless one of `must` applies, may succeed. */
interface Expected {
  /** Reasons to refuse. If there are any, the status is one of them. */
  readonly must: Set<number>
  /** Reasons on which servers differ. */
  readonly may: Set<number>
}

interface Client {
  readonly number: number
  readonly authorization: string
}

/** Plays random requests of two WebDAV clients with locks, and of the node's own route, and compares each answer and the files with a model. */
export class WebdavPlay {
  readonly #round: Round
  readonly #tree = new WebdavTree()
  readonly #node: TestNode
  readonly #user: TestUser
  readonly #clients: readonly [Client, ...Client[]]
  #contents = 0

  private constructor(round: Round, node: TestNode, user: TestUser, clients: readonly [Client, ...Client[]]) {
    this.#round = round
    this.#node = node
    this.#user = user
    this.#clients = clients
  }

  /** Plays one round on a node of its own. */
  static async run(round: Round): Promise<void> {
    const node = await createTestNode({
      folder: import.meta.dirname,
      config: {
        plugins: { files: true, 'storage-memory': true, webdav: true },
        storage: { mounts: { '/': 'memory' } },
      },
    })
    try {
      const user = await node.signIn()
      const clients = [await clientOf(user, 0), await clientOf(user, 1)] as const
      const play = new WebdavPlay(round, node, user, clients)
      for (let step = 0; step < steps && !round.signal.aborted; step += 1) await play.#step()
      await play.#compareAll()
    } finally {
      await node.stop()
    }
  }

  async #step(): Promise<void> {
    const random = this.#round.random
    const client = random.pick(this.#clients)
    const path = this.#path()
    const step = random.pick([
      () => this.#put(client, path),
      () => this.#put(client, path),
      () => this.#makeFolder(client, path),
      () => this.#makeFolder(client, path),
      () => this.#delete(client, path),
      () => this.#transfer('COPY', client, path),
      () => this.#transfer('MOVE', client, path),
      () => this.#lock(client, path),
      () => this.#lock(client, path),
      () => this.#unlock(client),
      () => this.#refresh(client),
      () => this.#get(client, path),
      () => this.#list(client, path),
      () => this.#writeOtherwise(path),
    ])
    await step()
  }

  async #put(client: Client, path: string): Promise<void> {
    const { sent, headers } = this.#tokens(client, path)
    const expected = this.#expectedOfEntry(path, sent)
    if (this.#tree.isFolder(path)) for (const status of [405, 409]) expected.must.add(status)
    const content = this.#content()
    const isThere = this.#tree.has(path)
    const answer = await this.#ask('PUT', client, path, { headers, body: content })
    if (this.#judge(answer, expected, [isThere ? 204 : 201])) this.#tree.entries.set(path, content)
  }

  async #makeFolder(client: Client, path: string): Promise<void> {
    const { sent, headers } = this.#tokens(client, path)
    const expected = this.#expectedOfEntry(path, sent)
    if (this.#tree.has(path)) expected.must.add(405)
    const answer = await this.#ask('MKCOL', client, path, { headers })
    if (this.#judge(answer, expected, [201])) this.#tree.entries.set(path, null)
  }

  async #delete(client: Client, path: string): Promise<void> {
    const { sent, headers } = this.#tokens(client, path)
    const expected = this.#expectedOfTree(path, sent)
    const answer = await this.#ask('DELETE', client, path, { headers })
    if (this.#judge(answer, expected, [204])) this.#tree.remove(path)
  }

  async #transfer(method: 'COPY' | 'MOVE', client: Client, path: string): Promise<void> {
    const tree = this.#tree
    const random = this.#round.random
    const destination = this.#path()
    const overwrites = random.chance(0.7)
    const { sent, headers } = this.#tokens(client, path, destination)
    const expected: Expected =
      method === 'MOVE' ? this.#expectedOfTree(path, sent) : { must: new Set(), may: new Set() }
    if (!tree.has(path)) expected.must.add(404)
    const replaces = tree.has(destination)
    if (isWithin(destination, path) || isWithin(path, destination))
      for (const status of [403, 409]) expected.must.add(status)
    if (!tree.isFolder(parentOf(destination))) expected.must.add(409)
    if (replaces && !overwrites) expected.must.add(412)
    if (tree.isTreeLocked(destination, sent)) expected.must.add(423)
    if (tree.isLocked(parentOf(destination), sent)) (replaces ? expected.may : expected.must).add(423)
    const answer = await this.#ask(method, client, path, {
      headers: {
        ...headers,
        destination: `${this.#node.url.origin}${addressOf(destination)}`,
        overwrite: overwrites ? 'T' : 'F',
      },
    })
    if (!this.#judge(answer, expected, [replaces ? 204 : 201])) return
    // Servers differ in whether what replaces a locked entry keeps its lock.
    const former = tree.locks.filter((lock) => lock.path === destination)
    tree.remove(destination)
    tree.copy(path, destination)
    if (method === 'MOVE') tree.remove(path)
    const kept = await this.#lockTokens(destination)
    tree.locks.push(...former.filter(({ token }) => kept.includes(token)))
  }

  async #lock(client: Client, path: string): Promise<void> {
    const tree = this.#tree
    const random = this.#round.random
    const wish = { path, isDeep: random.chance(0.5), isShared: random.chance(0.3) }
    const isNew = !tree.has(path)
    const { sent, headers } = this.#tokens(client, path)
    // A lock that others share does not keep a client from sharing it, also with an empty file that the lock makes.
    const expected: Expected = { must: this.#refusalsOfPlace(path, sent), may: new Set() }
    // With 207, the lock of something in a folder is in the way (RFC 4918, section 9.10.3).
    if (tree.conflicts(wish)) for (const status of [207, 423]) expected.must.add(status)
    const answer = await this.#ask('LOCK', client, path, {
      headers: { ...headers, depth: wish.isDeep ? 'infinity' : '0', timeout: 'Second-3600' },
      body: `<lockinfo xmlns="DAV:"><lockscope><${wish.isShared ? 'shared' : 'exclusive'}/></lockscope><locktype><write/></locktype></lockinfo>`,
    })
    if (!this.#judge(answer, expected, [isNew ? 201 : 200])) return
    const token = /<(.+)>/.exec(answer.headers.get('lock-token') ?? '')?.[1]
    assert.ok(token, 'LOCK answers with a lock token')
    if (isNew) tree.entries.set(path, '')
    tree.locks.push({ ...wish, token, client: client.number })
  }

  async #unlock(client: Client): Promise<void> {
    const tree = this.#tree
    const random = this.#round.random
    const [first, ...others] = tree.locks
    if (first === undefined) return
    const lock = random.pick([first, ...others])
    // A lock of another path is not removed by way of this one.
    const path = random.chance(0.8) ? lock.path : this.#path()
    const covers = path === lock.path || (lock.isDeep && isWithin(path, lock.path))
    const expected: Expected = { must: new Set(), may: new Set() }
    for (const status of [403, 404, 409])
      if (!covers) expected.must.add(status)
      else if (path !== lock.path) expected.may.add(status)
    const answer = await this.#ask('UNLOCK', client, path, { headers: { 'lock-token': `<${lock.token}>` } })
    if (this.#judge(answer, expected, [204])) tree.locks = tree.locks.filter((each) => each !== lock)
  }

  async #refresh(client: Client): Promise<void> {
    const [first, ...others] = this.#tree.locks
    if (first === undefined) return
    const { token, path } = this.#round.random.pick([first, ...others])
    const answer = await this.#ask('LOCK', client, path, {
      headers: { if: `(<${token}>)`, timeout: 'Second-1800' },
    })
    this.#judge(answer, { must: new Set(), may: new Set() }, [200])
  }

  async #get(client: Client, path: string): Promise<void> {
    const stored = this.#tree.entries.get(path)
    const answer = await this.#ask('GET', client, path, {})
    const expected: Expected = { must: new Set(stored === undefined ? [404] : []), may: new Set() }
    // RFC 4918 does not say how a folder answers GET.
    if (stored === null) for (const status of [200, 405]) expected.may.add(status)
    if (this.#judge(answer, expected, [200]) && typeof stored === 'string')
      assert.equal(answer.text, stored, `the content of ${path}`)
  }

  async #list(client: Client, path: string): Promise<void> {
    const tree = this.#tree
    const answer = await this.#ask('PROPFIND', client, path, { headers: { depth: '1' } })
    const expected: Expected = { must: new Set(tree.has(path) ? [] : [404]), may: new Set() }
    if (!this.#judge(answer, expected, [207])) return
    const listed = hrefsIn(answer.text).filter((each) => each !== path)
    assert.deepEqual(
      listed.map((each) => each.slice(each.lastIndexOf('/') + 1)).sort(),
      tree.isFolder(path) ? tree.namesIn(path) : [],
      `the entries of ${path}`,
    )
  }

  /** Locks bind WebDAV clients only. */
  async #writeOtherwise(path: string): Promise<void> {
    if (this.#tree.isFolder(path) || !this.#tree.isFolder(parentOf(path))) return
    const content = this.#content()
    const target = `/write?path=${encodeURIComponent(path)}`
    const answer = await this.#user.fetch(target, { method: 'PUT', body: content })
    assert.equal(answer.status, 200, await answer.text())
    this.#round.log(`PUT /write ${path}`)
    this.#tree.entries.set(path, content)
  }

  /** Compares all files, folders and locks, by the node's own routes and by WebDAV. */
  async #compareAll(): Promise<void> {
    const tree = this.#tree
    const found = new Map<string, string | null>()
    const walk = async (folder: string) => {
      const entries = (await (await this.#read('readdir', folder)).json()) as { name: string; type: string }[]
      for (const { name, type } of entries) {
        const path = folder === '/' ? `/${name}` : `${folder}/${name}`
        found.set(path, type === 'file' ? await (await this.#read('read', path)).text() : null)
        if (type !== 'file') await walk(path)
      }
    }
    await walk('/')
    assert.deepEqual([...found].sort(), [...tree.entries].sort())
    for (const path of ['/', ...tree.entries.keys()]) {
      await this.#list(this.#clients[0], path)
      const expected = tree.locksOf(path).map(({ token }) => token)
      assert.deepEqual((await this.#lockTokens(path)).sort(), expected.sort(), `the locks of ${path}`)
    }
  }

  #read(endpoint: 'readdir' | 'read', path: string): Promise<Response> {
    return this.#user.fetch(`/${endpoint}?path=${encodeURIComponent(path)}`)
  }

  async #lockTokens(path: string): Promise<string[]> {
    const body = '<propfind xmlns="DAV:"><prop><lockdiscovery/></prop></propfind>'
    const { text } = await this.#ask('PROPFIND', this.#clients[0], path, { headers: { depth: '0' }, body })
    const tokens = text.matchAll(/<D:locktoken>\s*<D:href>([^<]+)<\/D:href>/g)
    return [...tokens].map(([, token = '']) => token)
  }

  /** Reasons to refuse a change that makes an entry, or changes the content of a file. */
  #expectedOfEntry(path: string, sent: ReadonlySet<string>): Expected {
    const must = this.#refusalsOfPlace(path, sent)
    if (this.#tree.isLocked(path, sent)) must.add(423)
    return { must, may: new Set() }
  }

  /** Reasons of the folder above to refuse something new. */
  #refusalsOfPlace(path: string, sent: ReadonlySet<string>): Set<number> {
    const tree = this.#tree
    const must = new Set<number>()
    if (!tree.isFolder(parentOf(path))) must.add(409)
    if (!tree.has(path) && tree.isLocked(parentOf(path), sent)) must.add(423)
    return must
  }

  /** Reasons to refuse a change that takes an entry away. */
  #expectedOfTree(path: string, sent: ReadonlySet<string>): Expected {
    const tree = this.#tree
    const must = new Set<number>()
    if (!tree.has(path)) must.add(404)
    if (tree.isTreeLocked(path, sent) || tree.isLocked(parentOf(path), sent)) must.add(423)
    return { must, may: new Set() }
  }

  /** Most times, a client sends the tokens of its locks that have to do with a path. */
  #tokens(client: Client, ...paths: readonly string[]) {
    const tree = this.#tree
    if (this.#round.random.chance(0.2)) return { sent: new Set<string>(), headers: {} }
    const own = tree.locks.filter(
      (lock) =>
        lock.client === client.number &&
        paths.some(
          (path) => isWithin(lock.path, path) || isWithin(path, lock.path) || lock.path === parentOf(path),
        ),
    )
    const lists = own.map(({ path, token }) => `<${this.#node.url.origin}${addressOf(path)}> (<${token}>)`)
    return {
      sent: new Set(own.map(({ token }) => token)),
      headers: lists.length === 0 ? {} : { if: lists.join(' ') },
    }
  }

  /** Returns whether a request has succeeded, and throws if the model says otherwise. */
  #judge({ status, what }: Answered, { must, may }: Expected, success: readonly number[]): boolean {
    const allowed = must.size > 0 ? [...must, ...may] : [...success, ...may]
    assert.ok(allowed.includes(status), `${what}: ${status}, expected ${allowed.join(' or ')}`)
    return success.includes(status)
  }

  async #ask(method: string, client: Client, path: string, init: DavInit): Promise<Answered> {
    const headers = { ...init.headers, authorization: client.authorization }
    const answer = await fetch(new URL(addressOf(path), this.#node.url), { ...init, method, headers })
    const text = await answer.text()
    const { authorization: _, ...shown } = headers
    const what = `${method} ${path} of ${client.number} ${JSON.stringify(shown)}`
    this.#round.log(`${answer.status} ${what}`)
    return { status: answer.status, headers: answer.headers, text, what }
  }

  #path(): string {
    const { random } = this.#round
    return Array.from({ length: random.integer(1, 3) }, () => `/${random.pick(names)}`).join('')
  }

  #content(): string {
    this.#contents += 1
    return `content ${this.#contents}`
  }
}

interface DavInit {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The request, for a failure. */
  readonly what: string
}

async function clientOf(user: TestUser, number: number): Promise<Client> {
  const answer = await user.fetch('/api/account/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: `client ${number}`, scopes: ['webdav'] }),
  })
  const { token } = (await answer.json()) as { token: string }
  return { number, authorization: `Basic ${btoa(`client:${token}`)}` }
}

function addressOf(path: string): string {
  return `/dav${path.split('/').map(encodeURIComponent).join('/')}`
}

/** The paths that an answer to PROPFIND lists. */
function hrefsIn(multistatus: string): string[] {
  const hrefs = multistatus.matchAll(/<D:response>\s*<D:href>([^<]+)<\/D:href>/g)
  return [...hrefs].map(([, href = '']) => {
    const path = decodeURIComponent(href.replaceAll('&amp;', '&')).replace(/^\/dav/, '')
    return path.replace(/\/$/, '') || '/'
  })
}
