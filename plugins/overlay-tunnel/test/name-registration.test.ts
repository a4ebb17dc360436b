import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { createMemoryState } from '@nodekeep/kernel/testing'
import type { Log, OverlayNode } from '@nodekeep/plugin-sdk'
import { tunnelTls } from '@nodekeep/plugin-sdk/tunnel'
import { type Test, test } from 'tap'
import { GatewayTrust } from '../src/gateway-trust.ts'
import { NameRegistration } from '../src/name-registration.ts'
import { ownName } from '../src/own-name.ts'
import { TunnelNetwork } from '../src/tunnel-network.ts'
import { startIdentityNode } from './fixtures/identity-node.ts'
import { ScriptedGateway } from './fixtures/scripted-gateway.ts'

interface Asked {
  readonly request: string
  readonly host: string | undefined
  readonly body: unknown
}

/** A gateway that keeps the requests to its API, and a state that outlives the nodes of the test. */
async function prepare(t: Test, answer: (asked: Asked, response: ServerResponse) => void) {
  const lender = await startIdentityNode()
  const { identity } = lender
  const gateway = await ScriptedGateway.start(identity)
  const asked: Asked[] = []
  gateway.api = async (request: IncomingMessage, response) => {
    const { method, url, headers } = request
    const body = method === 'POST' ? await json(request) : null
    const one = { request: `${method} ${url}`, host: headers.host, body }
    asked.push(one)
    answer(one, response)
  }
  t.teardown(async () => {
    gateway.close()
    await lender.node.stop()
  })
  const state = createMemoryState()

  /** Starts a node with this name. */
  async function join(name: string | null) {
    const lines: { readonly level: string; readonly message: string }[] = []
    const at = (level: string) => (first: unknown, second?: unknown) =>
      lines.push({ level, message: String(second ?? first) })
    const log = {
      trace() {},
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
    } as unknown as Log
    const own = name === null ? null : ownName(name)
    const address = { host: '127.0.0.1', port: gateway.port }
    const network = new TunnelNetwork({
      address,
      trust: await GatewayTrust.load(address, identity.nodeId, state, log),
      tls: () => tunnelTls(identity),
      name: own,
      registration: new NameRegistration(own, identity, state, log, 20),
      maxConnections: 10,
      log,
    })
    const leaving = new AbortController()
    const node: OverlayNode = { endsTls: true, statusChanged() {}, serve() {} }
    const joined = network.join(node, leaving.signal)
    const leave = async () => {
      leaving.abort()
      await joined
    }
    t.teardown(leave)
    return { network, lines, leave }
  }
  return { gateway, identity, asked, join, state }
}

const well = (_asked: Asked, response: ServerResponse) => response.end('{"success":true}')

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: true, code: 'ANY', message }))
}

async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2))
}

test('a node asks for its name once it is taken in, and not if it has the name already', async (t) => {
  const { gateway, identity, asked, join } = await prepare(t, well)
  const node = await join('me.example.org:8443')
  await until(() => node.lines.some(({ message }) => /has the name me\.example\.org:8443/.test(message)))
  t.strictSame(asked, [
    {
      request: 'POST /api/gateway/register',
      host: 'example.org:8443',
      body: { subdomain: 'me', endpoint: `overlay://${identity.nodeId}` },
    },
  ])
  t.equal(node.network.status().problem, null)
  await node.leave()

  gateway.isFriendly = false
  const again = await join('me.example.org:8443')
  const control = await gateway.control(2)
  control.send({ type: 'welcome', port: 0, urls: ['https://me.example.org:8443'] })
  await until(() => again.network.status().origins.length === 1)
  control.send({ type: 'welcome', port: 0, urls: [] })
  await until(() => again.network.status().origins.length === 0)
  await again.leave()
  t.equal(asked.length, 1)
})

test('a name that is taken is told once, and asked for again', async (t) => {
  let isTaken = true
  const { asked, join } = await prepare(t, (one, response) => {
    if (isTaken) refuse(response, 409, 'The name "me" is taken. Choose another one.')
    else well(one, response)
  })
  const { network, lines } = await join('me.example.org')
  await until(() => asked.length === 3)
  t.equal(network.status().problem, 'name-taken')
  const message =
    'The node does not get the name me.example.org from its gateway: The name "me" is taken. Choose another one.'
  t.strictSame(
    lines.filter(({ level }) => level === 'warn'),
    [{ level: 'warn', message }],
  )
  isTaken = false
  await until(() => network.status().problem === null)
  t.ok(lines.some(({ message }) => /has the name/.test(message)))
})

for (const [what, answer, reason] of [
  ['refuses', (response) => refuse(response, 429, 'Too many requests.'), /Too many requests\./],
  [
    'does not know the domain',
    (response) => refuse(response, 400, 'No.'),
    /No\. Check that "overlay-tunnel\.name"/,
  ],
  [
    'has another port of https',
    (response) => refuse(response, 421, 'Add a name to "server.hostnames".'),
    /gateway: The gateway has another domain, or another port of https\. Check.*with its port/,
  ],
  [
    'answers nonsense',
    (response) => response.writeHead(500).end('x'.repeat(100)),
    /It answered with the status 500\./,
  ],
  ['answers too much', (response) => response.end('x'.repeat(10_000)), /longer than 4096 bytes/],
  [
    'changes the protocol',
    ({ socket }) =>
      socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    /It answered with the status 101\./,
  ],
  ['hangs up', (response) => response.destroy(), /socket hang up|ECONNRESET/],
] as readonly [string, (response: ServerResponse) => void, RegExp][]) {
  test(`a gateway that ${what} leaves the node without a name for a while`, async (t) => {
    const { asked, join } = await prepare(t, (_asked, response) => answer(response))
    const { network, lines } = await join('me.example.org')
    await until(() => asked.length === 2)
    t.equal(network.status().problem, 'name-failing')
    t.match(
      lines
        .filter(({ level }) => level === 'warn')
        .map(({ message }) => message)
        .join(),
      reason,
    )
  })
}

test('a node with another name gives its former one back', async (t) => {
  const { asked, join } = await prepare(t, well)
  for (const [name, told] of [
    ['me.example.org', /has the name me/],
    ['you.example.org', /given its former name me\.example\.org back/],
    [null, /given its former name you\.example\.org back/],
  ] as const) {
    const { lines, leave } = await join(name)
    await until(() => lines.some(({ message }) => told.test(message)))
    await leave()
  }
  t.same(
    asked.map(({ request, host }) => `${request} ${host}`),
    [
      'POST /api/gateway/register example.org',
      'POST /api/gateway/register example.org',
      'DELETE /api/gateway/register/me example.org',
      'DELETE /api/gateway/register/you example.org',
    ],
  )
})

test('a former name is kept while the new one is taken, and given up where the gateway allows one name', async (t) => {
  const names = new Set<string>()
  const { identity, asked, join, state } = await prepare(t, (one, response) => {
    const { subdomain = one.request.split('/').at(-1) ?? '' } = (one.body ?? {}) as { subdomain?: string }
    if (one.request.startsWith('DELETE')) names.delete(subdomain)
    else if (subdomain === 'taken') return refuse(response, 409, 'Taken.')
    else if (names.size > 0) return refuse(response, 403, 'This node has 1 names, which is the limit.')
    else names.add(subdomain)
    well(one, response)
  })
  for (const [name, problem] of [
    ['me.example.org', null],
    ['taken.example.org', 'name-taken'],
    ['you.example.org', null],
  ] as const) {
    const seen = asked.length
    const { network, lines, leave } = await join(name)
    await until(() => asked.length > seen && network.status().problem === problem)
    if (problem === null) {
      await until(() => lines.some(({ message }) => message.includes(`has the name ${name}`)))
      await until(async () => (await state.get<string[]>(`names at ${identity.nodeId}`))?.length === 1)
    }
    await leave()
    t.same([...names], [problem === null ? name.split('.')[0] : 'me'])
  }
  t.same(await state.get(`names at ${identity.nodeId}`), ['you.example.org'])
})

test('a former name that cannot be given back now is given back later', async (t) => {
  let isDown = false
  const { asked, join } = await prepare(t, (one, response) => {
    if (isDown && one.request.startsWith('DELETE')) refuse(response, 503, 'Too many nodes are registering.')
    else well(one, response)
  })
  const first = await join('me.example.org')
  await until(() => asked.length === 1 && first.lines.some(({ level }) => level === 'info'))
  await first.leave()
  isDown = true
  const second = await join('you.example.org')
  await until(() =>
    second.lines.some(({ message }) => /could not be given back.*Too many nodes/.test(message)),
  )
  t.equal(second.network.status().problem, null, 'the node has the name that it is to have')
  await second.leave()
  isDown = false
  const third = await join('you.example.org')
  await until(() =>
    third.lines.some(({ message }) => /given its former name me\.example\.org back/.test(message)),
  )
})

test('a node that loses its gateway while it asks leaves in order, and asks again', async (t) => {
  let isHanging = true
  const { gateway, asked, join } = await prepare(t, (one, response) => {
    if (!isHanging) well(one, response)
  })
  const { lines } = await join('me.example.org')
  await until(() => asked.length === 1)
  isHanging = false
  gateway.cut()
  await until(() => lines.some(({ message }) => /has the name/.test(message)))
  t.equal(asked.length, 2)
})
