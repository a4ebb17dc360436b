import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import t, { test } from 'tap'
import { until } from '../state/fixtures/until.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const forged = {
  'x-forwarded-for': '198.51.100.7',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'forged.test',
}

// The tests run concurrently, because they mostly wait.
t.jobs = 4

test('the node accepts forwarded addresses only from trusted proxies', async (t) => {
  const cases = [
    [[], forged['x-forwarded-for'], { ip: '127.0.0.1', protocol: 'http' }],
    [['10.0.0.0/8'], forged['x-forwarded-for'], { ip: '127.0.0.1', protocol: 'http' }],
    [['127.0.0.1'], forged['x-forwarded-for'], { ip: '198.51.100.7', protocol: 'https' }],
    [['127.0.0.0/8', '10.0.0.0/8'], '203.0.113.9, 198.51.100.7, 10.1.2.3', { ip: '198.51.100.7' }],
    [['127.0.0.1'], '203.0.113.9, 198.51.100.7', { ip: '198.51.100.7' }],
  ] as const
  for (const [trustedProxies, chain, expected] of cases) {
    const node = await createTestNode({ plugins: [probe], config: { server: { trustedProxies } } })
    const answer = await node.fetch('/caller', { headers: { ...forged, 'x-forwarded-for': chain } })
    t.match(await answer.json(), expected, `${trustedProxies.join()} for ${chain}`)
    await node.stop()
  }
})

test('the node closes connections beyond its limit at once and serves later ones', async (t) => {
  const node = await createTestNode({ plugins: [probe], config: { server: { maxConnections: 3 } } })
  t.teardown(() => node.stop())
  const ask = async () => {
    const connection = rawConnection(node.url)
    connection.send(rawRequest('GET', '/open'))
    return { connection, answer: await connection.answer().catch(() => null) }
  }
  const held = [await ask(), await ask(), await ask()]
  for (const { answer } of held) t.equal(answer?.status, 200)
  t.equal((await ask()).answer, null, 'the fourth')
  for (const { connection } of held) connection.close()
  const later = await until(async () => {
    const { connection, answer } = await ask()
    connection.close()
    return answer
  })
  t.equal(later.status, 200)
})

test('the node closes an idle connection after its timeout, and no connection in use', async (t) => {
  const node = await createTestNode({
    plugins: [probe],
    config: { server: { keepAliveTimeoutSeconds: 0.2 } },
  })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  for (let i = 0; i < 3; i++) {
    connection.send(rawRequest('GET', '/slow'))
    t.equal((await connection.answer()).status, 200)
  }
  t.equal(await connection.ended(), '')
})

test('a route that answers late keeps its connection, and the limit applies to the requests after it', async (t) => {
  const { promise: otherStalled, resolve } = Promise.withResolvers<void>()
  const late = definePlugin({
    id: 'late',
    setup({ routes }) {
      routes((app) => {
        const open = { access: 'public', publicReason: 'It is there for a test.' } as const
        app.get('/late', { config: { ...open, answersLate: true } }, async () => {
          await otherStalled
          return { late: true }
        })
        app.get('/silent', { config: open }, () => new Promise<object>(() => {}))
      })
    },
  })
  const server = { stallTimeoutSeconds: 0.3, drainSeconds: 0.1 }
  const node = await createTestNode({ plugins: [late], config: { server } })
  t.teardown(() => node.stop())
  const patient = rawConnection(node.url)
  patient.send(rawRequest('GET', '/late'))
  const stalled = rawConnection(node.url)
  stalled.send(rawRequest('GET', '/silent'))
  t.equal(await stalled.ended(), '', 'it began later and is closed first')
  resolve()
  t.equal((await patient.answer()).status, 200)
  patient.send(rawRequest('GET', '/silent'))
  t.equal(await patient.ended(), '')
})

test('the node closes a connection without traffic, but not a slow one', async (t) => {
  const silent = definePlugin({
    id: 'silent',
    setup({ routes }) {
      routes((app) => {
        const config = { access: 'public', publicReason: 'It is there for a test.' } as const
        app.get('/silent', { config }, () => new Promise<object>(() => {}))
      })
    },
  })
  const server = { stallTimeoutSeconds: 1, drainSeconds: 0.1 }
  const node = await createTestNode({ plugins: [probe, silent], config: { server } })
  t.teardown(() => node.stop())
  const stalled = rawConnection(node.url)
  stalled.send(rawRequest('GET', '/silent'))
  t.equal(await stalled.ended(), '')
  const slow = rawConnection(node.url)
  for (let i = 0; i < 6; i++) {
    slow.send(rawRequest('GET', '/slow'))
    t.equal((await slow.answer()).status, 200)
  }
  slow.close()
})
