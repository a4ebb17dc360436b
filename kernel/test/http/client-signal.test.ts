import { once } from 'node:events'
import { createTestNode } from '@nodekeep/kernel/testing'
import { clientSignal, definePlugin } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { until } from '../state/fixtures/until.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const config = { access: 'public', publicReason: 'A test.' } as const

/** Starts a node with routes that wait until their client disconnects, and then throw the reason. */
async function startWatchingNode(t: Test) {
  const lines: string[] = []
  const reasons: unknown[] = []
  const begun: string[] = []
  const watching = definePlugin({
    id: 'watching',
    setup({ routes }) {
      routes((app) => {
        const abortReason = async (signal: AbortSignal) => {
          if (!signal.aborted) await once(signal, 'abort')
          reasons.push(signal.reason)
          throw signal.reason
        }
        app.addHook('preHandler', async ({ url }) => void begun.push(url))
        app.get('/waits', { config }, async (_request, reply) => abortReason(clientSignal(reply)))
        app.post('/waits', { config }, async (_request, reply) => abortReason(clientSignal(reply)))
        app.get('/drips', { config }, async (_request, reply) => {
          reply.hijack()
          reply.raw.writeHead(200).write('drip')
          return abortReason(clientSignal(reply))
        })
        app.get('/breaks', { config }, async (_request, reply) => {
          setImmediate(() => {
            throw new Error('nobody catches this')
          })
          return abortReason(clientSignal(reply))
        })
        app.get('/answers', { config }, async (_request, reply) => {
          clientSignal(reply).addEventListener('abort', () => reasons.push('complete'))
          return 'answered'
        })
      })
    },
  })
  const node = await createTestNode({
    plugins: [watching],
    onLog: (line) => lines.push(line),
    config: { plugins: { watching: { required: false } }, server: { drainSeconds: 0.1 } },
  })
  t.teardown(() => node.stop())
  const failures = () => lines.filter((line) => /"level":"(warn|error|fatal)"/.test(line))
  return { node, reasons, begun, failures }
}

const gone = { code: 'REQUEST_TIMEOUT', message: 'The client left before it was answered.' }

test('a client that disconnects before or after the first byte aborts the signal without a log line', async (t) => {
  const { node, reasons, begun, failures } = await startWatchingNode(t)
  const json = { 'content-type': 'application/json' }
  const requests = [
    rawRequest('GET', '/waits'),
    rawRequest('GET', '/drips'),
    rawRequest('POST', '/waits', json, '{"a":1}'),
  ]
  for (const request of requests) {
    for (const disconnect of ['close', 'reset', 'half'] as const) {
      begun.length = 0
      reasons.length = 0
      const connection = rawConnection(node.url)
      await once(connection.socket, 'connect')
      connection.send(request)
      await until(() => begun.length === 1)
      t.same(reasons, [], 'the end of a body does not abort the signal')
      if (disconnect === 'close') connection.close()
      else if (disconnect === 'reset') connection.socket.resetAndDestroy()
      else connection.socket.end()
      await until(() => reasons.length === 1)
      t.match(reasons, [gone], `${request.slice(0, 10)}: ${disconnect}`)
      await connection.ended()
    }
  }
  t.same(failures(), [])
})

test('an answer that the node gives instead of the route aborts the signal', async (t) => {
  const { node, reasons, begun, failures } = await startWatchingNode(t)
  const broken = await node.fetch('/breaks')
  t.equal(broken.status, 500)
  await until(() => reasons.length === 1)
  t.match(reasons, [gone])
  const { token } = await node.signIn('owner')
  const waits = node.fetch('/waits')
  await until(() => begun.includes('/waits'))
  const headers = { authorization: `Bearer ${token}` }
  const off = await node.fetch('/api/system/plugins/watching/disable', { method: 'POST', headers })
  t.equal(off.status, 200)
  t.equal((await waits).status, 503)
  await until(() => reasons.length === 2)
  t.match(reasons, [gone, gone])
  const unexpected = failures().filter((line) => !line.includes('nobody catches this'))
  t.same(unexpected, [], 'the log has only the fault itself')
})

test('a complete answer aborts the signal', async (t) => {
  const { node, reasons } = await startWatchingNode(t)
  t.equal(await (await node.fetch('/answers')).text(), 'answered')
  await until(() => reasons.length === 1)
})
