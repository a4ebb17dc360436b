import { X509Certificate } from 'node:crypto'
import { Agent } from 'node:https'
import { createMemoryState, needsPrograms } from '@nodekeep/kernel/testing'
import type { Log, StateStore } from '@nodekeep/plugin-sdk'
import acme from 'acme-client'
import t, { type Test, test } from 'tap'
import { type Certificates, createCertificates } from '../../../src/certificates/certificates.ts'
import {
  type AcmeServer,
  acmePrograms,
  blockedName,
  type Pebble,
  startAcmeServer,
  startPebble,
} from '../fixtures/acme-server.ts'
import { createAuthority } from '../fixtures/authority.ts'
import { createLog } from '../fixtures/log.ts'
import { openPublicPort, type PublicPort } from '../fixtures/public-port.ts'

acme.axios.defaults.httpsAgent = new Agent({ rejectUnauthorized: false })
t.teardown(() => delete acme.axios.defaults.httpsAgent)

const skip = needsPrograms(...acmePrograms)
const name = 'me.example.org'

// The tests run one after the other: a Pebble, whose keys take much time, looks for all names at one port.
const entrance = await openPublicPort(t)
const pebble = skip ? null : await startPebble(t, entrance.port)

interface World {
  readonly t: Test
  readonly entrance: PublicPort
  readonly server: AcmeServer
  readonly state: StateStore
}

async function createWorld(t: Test): Promise<World> {
  entrance.node = null
  const server = await startAcmeServer(t, pebble as Pebble)
  return { t, entrance, server, state: createMemoryState() }
}

interface NodeOptions {
  readonly retryMs?: number
  readonly email?: string | null
}

async function startNode(
  { t, entrance, server, state }: World,
  { retryMs = 60_000, email = 'me@example.org' }: NodeOptions = {},
) {
  const log = createLog()
  const certificates: Certificates = await createCertificates({
    acme: {
      termsAccepted: true,
      directory: server.directory,
      ca: server.ca,
      ...(email !== null && { email }),
      renewBeforeDays: 30,
    },
    state,
    log: log as unknown as Log,
    times: { retryMs },
  })
  entrance.node = certificates
  t.teardown(() => certificates.close())
  return { certificates, log }
}

/** The account of the node, as the authority knows it. */
async function openAccount({ server, state }: World) {
  const accountKey = (await state.get<string>(`acme account ${server.directory}`)) ?? ''
  const client = new acme.Client({ directoryUrl: server.directory, accountKey })
  return { client, account: await client.createAccount({ onlyReturnExisting: true }) }
}

test('a name gets a certificate that clients trust', { skip }, async (t) => {
  const world = await createWorld(t)
  const { entrance, server } = world
  const { certificates, log } = await startNode(world)
  t.equal(certificates.endsTls, true)
  t.equal(certificates.health().ok, true, 'no name, no problem')

  const isObtained = log.next('info', /was obtained/)
  certificates.names([name])
  t.match(certificates.health(), {
    ok: false,
    state: 'certificate-pending',
    message: `The certificate for ${name} is being obtained.`,
  })
  await t.rejects(entrance.greet({ servername: name }), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' })
  await isObtained
  t.same(certificates.health(), { ok: true, state: 'certificate-valid', message: null })

  const trusting = { servername: name, ca: await server.issuer(), rejectUnauthorized: true }
  const { text } = await entrance.greet(trusting)
  t.same(JSON.parse(text), {
    remoteAddress: '203.0.113.7',
    remotePort: 54321,
    encrypted: true,
    serverName: name,
  })
  t.equal(server.orders, 1)
  const nameless = await entrance.greet({ servername: '' })
  t.match(JSON.parse(nameless.text), { serverName: null }, 'a client that names no server gets it too')
  await t.rejects(entrance.greet({ servername: 'you.example.org' }), {
    code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME',
  })
})

test('a restart keeps the certificate and the account, and orders nothing', { skip }, async (t) => {
  const world = await createWorld(t)
  const first = await startNode(world)
  const isObtained = first.log.next('info', /was obtained/)
  first.certificates.names([name])
  await isObtained
  await first.certificates.close()

  const { certificates } = await startNode(world)
  const { text } = await world.entrance.greet({
    servername: name,
    ca: await world.server.issuer(),
    rejectUnauthorized: true,
  })
  t.match(JSON.parse(text), { serverName: name }, 'before the network has told the names')
  certificates.names([name])
  t.equal(certificates.health().ok, true)
  t.equal(world.server.orders, 1)

  const other = await createCertificates({
    acme: { termsAccepted: true, directory: 'https://localhost:1/dir', renewBeforeDays: 30 },
    state: world.state,
    log: createLog() as unknown as Log,
  })
  t.teardown(() => other.close())
  world.entrance.node = other
  await t.rejects(world.entrance.greet({ servername: name }), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' })
})

test('a certificate is renewed before its end, without a break', { skip }, async (t) => {
  const world = await createWorld(t)
  const { directory } = world.server
  // A third of its time is 30 seconds, and begins soon.
  const second = 1 / (24 * 60 * 60)
  const authority = await createAuthority()
  const pair = await authority.issue({ names: [name], from: -58 * second, to: 32 * second })
  const stored = { directory, name, pair, orderedAt: 0, failures: 0, reason: null, notBefore: 0 }
  await world.state.set(`acme name ${name} ${directory}`, stored)
  const { certificates, log } = await startNode(world)
  const isRenewed = log.next('info', /was obtained/)
  certificates.names([name])
  t.equal(certificates.health().ok, true)
  const former = await world.entrance.greet({
    servername: name,
    ca: authority.root,
    rejectUnauthorized: true,
  })
  t.match(JSON.parse(former.text), { serverName: name })
  await isRenewed
  t.ok(Date.now() < new X509Certificate(pair.cert).validToDate.getTime(), 'the former one is valid still')
  const ca = await world.server.issuer()
  const renewed = await world.entrance.greet({ servername: name, ca, rejectUnauthorized: true })
  t.match(JSON.parse(renewed.text), { serverName: name })
  t.equal(certificates.health().ok, true)
  t.equal(world.server.orders, 1)
})

test('several names get a certificate each, one after the other', { skip }, async (t) => {
  const world = await createWorld(t)
  const { certificates, log } = await startNode(world)
  const names = [name, 'you.example.org', '127.0.0.1', 'localhost', '*.example.org', 'UPPER.example.org']
  certificates.names(names)
  await log.next('info', /you\.example\.org was obtained/)
  for (const servername of [name, 'you.example.org']) {
    const { text } = await world.entrance.greet({ servername })
    t.match(JSON.parse(text), { serverName: servername })
  }
  t.equal(certificates.health().ok, true)
  t.equal(world.server.orders, 2, 'an authority certifies no addresses and no local names')
})

test('all orders have one account, with and without an e-mail address', { skip }, async (t) => {
  const world = await createWorld(t)
  const accounts = new Set<unknown>()
  const orders: readonly [name: string, email: string | null][] = [
    [name, null],
    [name, null],
    ['two.example.org', null],
    ['three.example.org', 'me@example.org'],
    ['four.example.org', null],
  ]
  for (const [ordered, email] of orders) {
    await world.state.delete(`acme name ${name} ${world.server.directory}`)
    const { certificates, log } = await startNode(world, { email })
    const isDone = log.next(['info', 'warn'], /obtained\./)
    certificates.names([ordered])
    const { message, fields } = await isDone
    t.match(message, `The certificate for ${ordered} was obtained.`)
    accounts.add(fields.account)
    await certificates.close()
    const { account } = await openAccount(world)
    t.same(account.contact ?? [], email === null ? [] : [`mailto:${email}`], 'the authority has the address')
  }
  t.equal(accounts.size, 1)
})

test('a node whose account is deactivated registers one other account', { skip }, async (t) => {
  const world = await createWorld(t)
  const { certificates, log } = await startNode(world, { retryMs: 1 })
  const isFirst = log.next('info', /was obtained/)
  certificates.names([name])
  const first = await isFirst
  const former = await openAccount(world)
  await former.client.updateAccount({ status: 'deactivated' } as object)

  const isRefused = log.next('warn', /could not be obtained/)
  const isSecond = log.next('info', /two.example.org was obtained/)
  certificates.names([name, 'two.example.org'])
  t.match((await isRefused).message, /deactivated/)
  const second = await isSecond
  t.not(second.fields.account, first.fields.account)

  const isThird = log.next('info', /three.example.org was obtained/)
  certificates.names([name, 'three.example.org'])
  t.equal((await isThird).fields.account, second.fields.account)
})

test('a refusal is told with its reason, and the next attempt waits', { skip }, async (t) => {
  const world = await createWorld(t)
  const { certificates, log } = await startNode(world)
  certificates.names([blockedName])
  const { message } = await log.next('warn', /could not be obtained/)
  t.match(message, /blocked\.example\.org.*The next attempt is at 20/)
  const { ok, state, message: told } = certificates.health()
  t.match({ ok, state, told }, { ok: false, state: 'certificate-failing', told: message })
  const orders = world.server.orders
  certificates.names([blockedName])
  t.equal(world.server.orders, orders)

  await certificates.close()
  const restarted = await startNode(world)
  restarted.certificates.names([blockedName])
  t.match(
    restarted.certificates.health(),
    { state: 'certificate-failing', message: told },
    'a restart is no way around',
  )
  t.equal(world.server.orders, orders)
})

test('the pause that an authority asks for is kept, also over a restart', { skip }, async (t) => {
  const world = await createWorld(t)
  world.server.refuse = (response) => {
    response.writeHead(429, { 'content-type': 'application/problem+json', 'retry-after': '7200' })
    response.end(
      JSON.stringify({
        type: 'urn:ietf:params:acme:error:rateLimited',
        detail: 'too many certificates (50) already issued for "example.org" in the last 168h',
        status: 429,
      }),
    )
  }
  const { certificates, log } = await startNode(world, { retryMs: 1 })
  const before = Date.now()
  certificates.names([name])
  const { message } = await log.next('warn', /could not be obtained/)
  t.match(message, /too many certificates \(50\) already issued/)
  const next = Date.parse(/The next attempt is at (\S+)\.$/.exec(message)?.[1] ?? '')
  t.ok(next >= before + 7200_000 && next < Date.now() + 7201_000, message)
  t.equal(world.server.orders, 1)

  await certificates.close()
  world.server.refuse = null
  const restarted = await startNode(world, { retryMs: 1 })
  restarted.certificates.names([name])
  t.match(restarted.certificates.health().message, message)
  t.equal(world.server.orders, 1)
})

test('an authority that is away is asked again until it is back', { skip }, async (t) => {
  const world = await createWorld(t)
  await world.server.close()
  const { certificates, log } = await startNode(world, { retryMs: 20 })
  certificates.names([name])
  const { message } = await log.next('warn', /could not be obtained/)
  t.match(message, /localhost:\d+ cannot be reached: .*ECONNREFUSED/)
  await log.next('warn', /could not be obtained/)
  const isObtained = log.next('info', /was obtained/)
  await world.server.open()
  await isObtained
  t.equal(certificates.health().ok, true)
})

test('an authority that answers nonsense does no harm', { skip }, async (t) => {
  const world = await createWorld(t)
  const answers: readonly [body: string, reason: RegExp][] = [
    ['<html>Proxy</html>', /answered with the status 502/],
    ['{', /answered with the status 502/],
    [JSON.stringify({ detail: 'Line\nbreak \u001b[31m' }), /Line break \[31m\./],
    ['x'.repeat(2_000_000), /cannot be reached: maxContentLength/],
  ]
  const { certificates, log } = await startNode(world, { retryMs: 1 })
  for (const [body, reason] of answers) {
    world.server.refuse = (response) => response.writeHead(502).end(body)
    const isTold = log.next('warn', reason)
    certificates.names([name])
    t.match((await isTold).message, reason)
  }
})

test('a challenge that does not arrive fails with the words of the authority', { skip }, async (t) => {
  const world = await createWorld(t)
  const { certificates, log } = await startNode(world)
  world.entrance.node = null
  certificates.names([name])
  const { message } = await log.next('warn', /could not be obtained/)
  t.match(message, /The next attempt is at/)
  t.match(certificates.health().state, 'certificate-failing')
})

test('a CA that is not trusted is refused', { skip }, async (t) => {
  const world = await createWorld(t)
  const log = createLog()
  const certificates = await createCertificates({
    acme: { termsAccepted: true, directory: world.server.directory, renewBeforeDays: 30 },
    state: world.state,
    log: log as unknown as Log,
  })
  t.teardown(() => certificates.close())
  certificates.names([name])
  await log.next('warn', /cannot be reached: (unable to verify|self-signed certificate)/)
})

test('a missing file of roots is told', { skip }, async (t) => {
  const world = await createWorld(t)
  const { certificates, log } = await startNode({
    ...world,
    server: { ...world.server, ca: '/nowhere/ca.pem' },
  })
  certificates.names([name])
  await log.next('error', /could not be obtained.*nowhere/)
  t.match(certificates.health(), { state: 'certificate-failing' })
})

test('a stop ends an order at once, and the attempt counts', { skip }, async (t) => {
  const world = await createWorld(t)
  const { certificates, log } = await startNode(world)
  const isAsked = new Promise<void>((asked) => {
    world.server.refuse = () => asked()
  })
  certificates.names([name])
  await isAsked
  await certificates.close()
  t.same(
    log.lines.filter(({ level }) => level !== 'info'),
    [],
  )
  world.server.refuse = null
  const restarted = await startNode(world)
  restarted.certificates.names([name])
  t.equal(world.server.orders, 1)
})
