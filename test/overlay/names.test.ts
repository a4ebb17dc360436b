import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, HealthChecks, type RegistryReader } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { proofOf, trustingLogin, wallet } from '../sign-in/fixtures/trusting-login.ts'
import { askHttps, certificateFile } from './fixtures/https-client.ts'
import { knownNode } from './fixtures/known-node.ts'
import { streams } from './fixtures/streams.ts'
import { startGateway, startTunnelNode, type TestGateway } from './fixtures/tunnel.ts'

const domain = 'example.test'
const tls = { cert: certificateFile('gateway', 'crt'), key: certificateFile('gateway', 'key') }
const reachable = (host: string) =>
  new RegExp(`^Clients reach the node at https://${host.replaceAll('.', '\\.')}`)

/** Asks the gateway who has a name. */
async function statusOf({ httpsPort: port }: TestGateway, name: string) {
  return JSON.parse(
    (await askHttps({ port, name: domain, of: 'gateway', path: `/api/gateway/status/${name}` })).body,
  )
}

/** Returns a function that tells the state of the overlay as the health report does, and the plugin that it needs. */
function healthReader() {
  const { promise, resolve } =
    Promise.withResolvers<RegistryReader<{ check(signal: AbortSignal): unknown }>>()
  const plugin = definePlugin({
    id: 'health-reader',
    requires: { health: HealthChecks },
    setup: ({ health }) => resolve(health),
  })
  return { plugin, check: async () => (await promise).get('overlay')?.check(new AbortController().signal) }
}

async function startNamed(
  t: Test,
  gateway: TestGateway,
  label: string | null,
  options: { dataFolder?: string } = {},
) {
  const health = healthReader()
  const host = label === null ? null : `${label}.${domain}:${gateway.httpsPort}`
  const node = await startTunnelNode(t, gateway, {
    ...options,
    plugins: [streams, trustingLogin, health.plugin],
    config: { auth: { owner: wallet(7) } },
    tunnel: { gatewayId: gateway.nodeId, ...(host === null ? {} : { name: host }) },
  })
  return { ...node, host, health: health.check }
}

test('a node registers its name by itself, keeps it, and changes it with its configuration', async (t) => {
  const { dataFolder } = await knownNode(t)
  const gateway = await startGateway(t, { gateway: { domain, tls, registration: { namesPerNode: 1 } } })
  const first = await startNamed(t, gateway, 'me', { dataFolder })
  await first.log.line(reachable(`me.${domain}`))
  const asked = {
    port: gateway.httpsPort,
    name: `me.${domain}`,
    of: 'gateway',
    path: '/streams/mirror',
  } as const
  t.match(JSON.parse((await askHttps(asked)).body), { protocol: 'https', host: first.host })
  t.same(await first.health(), { ok: true, state: 'connected' })
  t.match(await statusOf(gateway, 'me'), { registered: true, connected: true })
  await first.node.stop()

  const second = await startNamed(t, gateway, 'me', { dataFolder })
  await second.log.line(reachable(`me.${domain}`))
  t.notOk(
    second.log.messages('info').some((message) => message.includes('has the name')),
    'a node that has its name does not ask for it',
  )
  await second.node.stop()

  const third = await startNamed(t, gateway, 'you', { dataFolder })
  await third.log.line(reachable(`you.${domain}`))
  await third.log.line(/^The node has given its former name me\.example\.test/)
  t.match(await statusOf(gateway, 'me'), { registered: false })
  t.match(await statusOf(gateway, 'you'), { registered: true, connected: true })
  await third.node.stop()

  const fourth = await startNamed(t, gateway, null, { dataFolder })
  await fourth.log.line(/^The node has given its former name you\.example\.test/)
  t.match(await statusOf(gateway, 'you'), { registered: false })
})

test('a name that another node has, that is reserved or that the gateway does not know is told', async (t) => {
  const gateway = await startGateway(t, { gateway: { domain, tls } })
  const owner = await startNamed(t, gateway, 'me')
  await owner.log.line(reachable(`me.${domain}`))
  for (const [label, state, reason] of [
    ['me', 'name-taken', /does not get the name me\.example\.test.*The name "me" is taken/],
    ['www', 'name-taken', /The name "www" is reserved/],
    ['xn--bcher-kva', 'name-failing', /A name has 1 to 63 letters.*Check that "overlay-tunnel\.name"/],
    ['me.nodes', 'name-failing', /Check that "overlay-tunnel\.name" is a name in the domain of the gateway/],
  ] as const) {
    const other = await startNamed(t, gateway, label)
    t.match(await other.log.line(reason), { level: 'warn' }, label)
    await other.log.line(/^Clients reach the node at http:/)
    t.match(await other.health(), { ok: false, state, message: /does not get its name/ }, label)
    t.match(await other.status(), { connected: true }, 'it has a port all the same')
    await other.node.stop()
  }
  t.match(await statusOf(gateway, 'me'), { registered: true, connected: true }, 'the owner keeps the name')
})

test('a name that the operator gives needs no registration', async (t) => {
  const { dataFolder, nodeId } = await knownNode(t)
  const gateway = await startGateway(t, {
    gateway: { domain, tls, names: { www: nodeId }, registration: { enabled: false } },
  })
  const node = await startNamed(t, gateway, 'www', { dataFolder })
  await node.log.line(reachable(`www.${domain}`))
  t.same(await node.health(), { ok: true, state: 'connected' })
})

test('a node takes no name for its own that it did not ask for', async (t) => {
  const { dataFolder, nodeId } = await knownNode(t)
  const gateway = await startGateway(t, { gateway: { domain, tls, names: { bank: nodeId } } })
  const { log } = await startNamed(t, gateway, 'me', { dataFolder })
  t.match(await log.line(/^The gateway also forwards https:\/\/bank\.example\.test.* to the node/), {
    level: 'warn',
  })
  await log.line(reachable(`me.${domain}`))
  const signIn = async (name: string) => {
    const { method, headers, body } = proofOf(wallet(7))
    const { httpsPort: port } = gateway
    const origin = { origin: `https://${name}:${port}` }
    const path = '/auth/test'
    return askHttps({ port, name, of: 'gateway', path, method, headers: { ...headers, ...origin }, body })
  }
  t.equal((await signIn(`me.${domain}`)).status, 200)
  t.not((await signIn(`bank.${domain}`)).status, 200, 'nobody signs in there')
})

test('a gateway that lost its names gets them from its nodes again', async (t) => {
  const [{ dataFolder: former }, { dataFolder: empty }] = [await knownNode(t), await knownNode(t)]
  await cp(join(former, 'identity'), join(empty, 'identity'), { recursive: true })
  const gateway = await startGateway(t, { gateway: { domain, tls }, dataFolder: former })
  const { log } = await startNamed(t, gateway, 'me')
  await log.line(reachable(`me.${domain}`))
  await gateway.node.stop()
  const { mark } = log
  const restored = await startGateway(t, { gateway: { domain, tls }, dataFolder: empty, like: gateway })
  await log.line(reachable(`me.${domain}`), mark)
  t.match(await statusOf(restored, 'me'), { registered: true, connected: true })
})
