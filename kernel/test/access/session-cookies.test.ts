import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { createToken } from '../../src/sessions/token.ts'
import { expectError } from '../fixtures/expect-error.ts'
import { createDataFolder, type LoginNode, startLoginNode, wallet } from '../fixtures/login-node.ts'

const [ada, bob] = [wallet(1), wallet(2)]
const protectedPath = '/api/account/sessions'

/** The cookies of one host, as a browser keeps them for all ports of it. */
class Cookies {
  readonly #values = new Map<string, string>()

  /** Sends a request with the cookies, and takes those of the answer. */
  async fetch({ fetch }: LoginNode, path: string, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(path, { ...init, headers: { ...init.headers, cookie: this.toString() } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      // Browsers refuse such a cookie.
      if (name.startsWith('__Host-') && !line.includes('; Secure')) continue
      if (line.includes('Expires=Thu, 01 Jan 1970')) this.#values.delete(name)
      else this.#values.set(name, value)
    }
    return response
  }

  async signIn(node: LoginNode, address: string): Promise<void> {
    const body = JSON.stringify({ uuid: `id-${address}`, address, token: address })
    const headers = { 'content-type': 'application/json' }
    const response = await this.fetch(node, '/auth/test', { method: 'POST', headers, body })
    if (response.status !== 200) throw new Error(`Signing in: ${response.status} ${await response.text()}`)
  }

  async signOut(node: LoginNode): Promise<number> {
    return (await this.fetch(node, '/auth/logout', { method: 'POST' })).status
  }

  /** The wallet that is signed in. */
  async who(node: LoginNode): Promise<string | undefined> {
    const { user } = (await (await this.fetch(node, '/whoami')).json()) as { user: { wallet?: string } }
    return user.wallet
  }

  get(name: string): string | undefined {
    return this.#values.get(name)
  }

  set(name: string, value: string): void {
    this.#values.set(name, value)
  }

  delete(name: string): void {
    this.#values.delete(name)
  }

  get names(): string[] {
    return [...this.#values.keys()]
  }

  toString(): string {
    return [...this.#values].map(([name, value]) => `${name}=${value}`).join('; ')
  }
}

test('a browser is signed in at two nodes of one host, and signs out of each alone', async (t) => {
  const [one, two] = [await startLoginNode(t), await startLoginNode(t)]
  const cookies = new Cookies()
  await cookies.signIn(one, ada)
  await cookies.signIn(two, bob)
  t.equal(await cookies.who(one), ada)
  t.equal(await cookies.who(two), bob)
  t.equal((await cookies.fetch(one, protectedPath)).status, 200)

  t.equal(await cookies.signOut(one), 200)
  t.equal(await cookies.who(one), undefined)
  t.equal(await cookies.who(two), bob, 'the session at the other node goes on')
  await cookies.signIn(one, ada)
  t.equal(await cookies.signOut(two), 200)
  t.equal(await cookies.who(two), undefined)
  t.equal(await cookies.who(one), ada)
  t.equal(await cookies.signOut(one), 200)
  t.strictSame(cookies.names, [], 'no cookie is left')
})

test('the node’s own cookie counts before the cookie "session", which counts alone', async (t) => {
  const node = await startLoginNode(t)
  const cookies = new Cookies()
  await cookies.signIn(node, ada)
  const { sessionToken } = await node.openSession(bob)
  cookies.set('session', sessionToken)
  t.equal(await cookies.who(node), ada)
  const own = cookies.names.find((name) => name !== 'session') ?? ''
  cookies.delete(own)
  t.equal(await cookies.who(node), bob)
})

test('without TLS, a cookie with the name for TLS does not take the place of a sign-in', async (t) => {
  const node = await startLoginNode(t)
  const cookies = new Cookies()
  await cookies.signIn(node, ada)
  const own = cookies.names.find((name) => name !== 'session') ?? ''
  // Browsers take it from any program at a loopback address, and send it to the node.
  for (const token of [createToken('session'), (await node.openSession(bob)).sessionToken]) {
    cookies.set(`__Host-${own}`, token)
    t.equal(await cookies.who(node), ada)
    cookies.delete(own)
    cookies.delete('session')
    t.equal(await cookies.who(node), undefined)
    await cookies.signIn(node, ada)
    t.equal(await cookies.who(node), ada)
  }
  t.equal(await cookies.signOut(node), 200)
  t.strictSame(cookies.names, [], 'a sign-out removes it')
})

test('over TLS, only the cookie with the name for TLS counts before "session"', async (t) => {
  const name = 'node.example.org'
  const node = await startLoginNode(t, {
    config: { server: { hostnames: [name], trustedProxies: ['127.0.0.1'] } },
  })
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': name }
  const who = async (cookies: Cookies) => {
    const answer = await cookies.fetch(node, '/whoami', { headers })
    return ((await answer.json()) as { user: { wallet?: string } }).user.wallet
  }
  const cookies = new Cookies()
  await cookies.signIn(node, ada)
  const own = cookies.names.find((name) => name !== 'session') ?? ''
  const { sessionToken } = await node.openSession(bob)
  cookies.set('session', sessionToken)
  t.equal(await who(cookies), bob)
  cookies.set(`__Host-${own}`, cookies.get(own) ?? '')
  t.equal(await who(cookies), ada)
})

test('a sign-out ends all sessions of the node that the cookies carry', async (t) => {
  const node = await startLoginNode(t)
  const cookies = new Cookies()
  await cookies.signIn(node, ada)
  const { sessionToken } = await node.openSession(bob)
  cookies.set('session', sessionToken)
  t.equal(await cookies.signOut(node), 200)
  t.strictSame(cookies.names, [])
  t.match(await (await node.as(sessionToken, '/whoami')).json(), { user: { authenticated: false } })
})

test('a sign-out with a token in the header leaves the sessions of cookies alone', async (t) => {
  const node = await startLoginNode(t)
  const cookies = new Cookies()
  await cookies.signIn(node, ada)
  const { sessionToken } = await node.openSession(ada)
  const headers = { authorization: `Bearer ${sessionToken}` }
  t.equal((await cookies.fetch(node, '/auth/logout', { method: 'POST', headers })).status, 200)
  t.equal(await cookies.who(node), ada)
})

test('an unknown token in the cookie "session" counts as no token', async (t) => {
  const node = await startLoginNode(t)
  for (const value of [createToken('session'), 'eyJfcGVybWFuZW50Ijp0cnVlfQ.Zx.abc']) {
    const cookies = new Cookies()
    cookies.set('session', value)
    const statuses = new Set<number>()
    for (let n = 0; n < 70; n += 1) {
      t.equal(await cookies.who(node), undefined)
      statuses.add((await cookies.fetch(node, protectedPath)).status)
    }
    t.same([...statuses], [401], 'the client is not limited')
    t.equal(await cookies.signOut(node), 401)
    t.equal(cookies.get('session'), value, 'it may be that of another node')
  }
  t.notOk(node.log.some((line) => line.includes('"event":"refused"')))
})

test('a client with the node’s own cookie of an ended session can sign in again', async (t) => {
  const node = await startLoginNode(t)
  const cookies = new Cookies()
  await cookies.signIn(node, ada)
  t.equal(await cookies.who(node), ada)
  const ended = cookies.toString()
  await node.as(cookies.get('session') ?? '', '/auth/logout', { method: 'POST' })
  const statuses = new Set<number>()
  for (let n = 0; n < 70; n += 1) {
    const response = await node.fetch('/whoami', { headers: { cookie: ended } })
    t.strictSame(await response.json(), { user: { authenticated: false } })
    statuses.add(response.status)
  }
  t.same([...statuses], [200])
  t.equal(await cookies.who(node), undefined)
  t.strictSame(cookies.names, [], 'the browser drops both cookies')
  t.equal((await node.fetch('/health', { headers: { cookie: ended } })).status, 200)
  await cookies.signIn(node, ada)
  t.equal(await cookies.who(node), ada)

  const guesses = []
  for (let n = 0; n < 61; n += 1)
    guesses.push((await node.fetch(protectedPath, { headers: { cookie: ended } })).status)
  t.same(
    guesses,
    [...Array.from({ length: 60 }, () => 401), 429],
    'a route that requires a session limits the client',
  )
})

test('a page of another site cannot write with the node’s own cookie', async (t) => {
  const node = await startLoginNode(t)
  const cookies = new Cookies()
  await cookies.signIn(node, ada)
  cookies.delete('session')
  const send = (path: string, headers: Record<string, string>) =>
    cookies.fetch(node, path, { method: 'DELETE', headers })
  const foreign = { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' }
  await expectError(t, await send(protectedPath, foreign), 403, 'FORBIDDEN')
  const signOut = await cookies.fetch(node, '/auth/logout', { method: 'POST', headers: foreign })
  await expectError(t, signOut, 403, 'FORBIDDEN')
  t.equal((await send(protectedPath, { 'sec-fetch-site': 'same-origin' })).status, 200)
})

test('a node with a damaged identity signs in with the cookie "session" alone', async (t) => {
  const dataFolder = await createDataFolder(t)
  const first = new Cookies()
  const whole = await startLoginNode(t, { dataFolder })
  await first.signIn(whole, ada)
  await whole.stop()
  await writeFile(join(dataFolder, 'identity', 'node.key'), 'no key')
  const damaged = await startLoginNode(t, { dataFolder })
  t.equal(await first.who(damaged), ada)
  const cookies = new Cookies()
  await cookies.signIn(damaged, bob)
  t.strictSame(cookies.names, ['session'])
  t.equal(await cookies.who(damaged), bob)
  const warnings = damaged.log.filter((line) => line.includes('no session cookie of its own'))
  t.equal(warnings.length, 1)
})
