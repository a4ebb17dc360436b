import { once } from 'node:events'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import tap, { test } from 'tap'
import { pollDuring } from './polling-client.ts'
import { supervisedNode } from './supervised-node.ts'

tap.setTimeout(120_000)
// The tests mostly wait for nodes that start.
tap.jobs = 3

test('a change of the release refuses no connection, and the way back keeps what was written', async (t) => {
  const node = await supervisedNode(t)
  t.match(await (await node.ask({ action: 'look' })).json(), { wayBack: null, history: [] })
  await node.post('/rows', { text: 'before' })

  const { failures, longestMs } = await pollDuring(new URL('/version', node.url), async () => {
    t.equal((await node.change('2.0.0')).status, 200)
    await node.attempt(1)
  })
  t.strictSame(failures, [])
  t.comment(`longest answer: ${Math.round(longestMs)} ms`)

  t.equal(await node.version(), '2.0.0')
  t.match(await node.history(), [{ from: '1.0.0', to: '2.0.0', result: 'installed', reason: null }])
  t.equal(readlinkSync(join(node.releases, 'current')), '2.0.0')
  t.match(await (await node.ask({ action: 'look' })).json(), { wayBack: { version: '1.0.0' } })
  t.strictSame(await node.get('/rows'), ['start of 1.0.0', 'before', 'start of 2.0.0'])

  await node.post('/rows', { text: 'after' })
  t.equal((await node.ask({ action: 'back' })).status, 200)
  t.match(await node.attempt(2), {
    from: '2.0.0',
    to: '1.0.0',
    result: 'went back',
    reason: 'A test asks for it.',
  })
  await node.runs('1.0.0')
  t.ok((await node.get<string[]>('/rows')).includes('after'))
  t.equal((await node.ask({ action: 'back' })).status, 409)
  t.match(
    node.supervisor.output,
    'Version 1.0.0 runs again, with all data. Version 2.0.0 was left: A test asks for it.',
  )
  t.strictSame(await node.supervisor.end('SIGTERM'), [0, null])
})

test('an upload that outlasts the patience of a change is refused with an answer', async (t) => {
  const node = await supervisedNode(t)
  const headers = { 'content-type': 'application/json', 'content-length': 1000, expect: '100-continue' }
  const upload = request(new URL('/rows', node.url), { method: 'POST', agent: false, headers })
  const answered = once(upload, 'response')
  upload.flushHeaders()
  await once(upload, 'continue')
  upload.write('{')
  t.equal((await node.change('2.0.0', 'fine', { patienceMs: 500 })).status, 200)
  const [answer] = (await answered) as [IncomingMessage]
  t.equal(answer.statusCode, 503)
  t.match(await json(answer), { error: true, code: 'SERVICE_UNAVAILABLE' })
  t.match(await node.attempt(1), { to: '2.0.0', result: 'installed' })
  t.equal(await node.version(), '2.0.0')
  await node.supervisor.end('SIGTERM')
})

test('a new version that does not work never reaches clients, and leaves no trace in the data', async (t) => {
  const node = await supervisedNode(t)
  await node.post('/rows', { text: 'before' })
  const rows = await node.get<string[]>('/rows')
  for (const [version, behavior, reason] of [
    ['2.0.0', 'fails', /the new version is broken/],
    ['2.0.1', 'exits', /It ended with the code/],
    ['2.0.2', 'unhealthy', /the check "switchable" says unhealthy/],
  ] as const) {
    const { length } = await node.history()
    t.equal((await node.change(version, behavior)).status, 200)
    t.match(await node.attempt(length + 1), { to: version, result: 'failed', reason })
    await node.runs('1.0.0')
    rows.push('start of 1.0.0')
    t.strictSame(await node.get('/rows'), rows)
    t.notOk(existsSync(join(node.releases, `before-${version}`)))
  }
})

test('a plugin closes the way back only if a person says so', async (t) => {
  const node = await supervisedNode(t)
  await node.change('2.0.0', 'contracts')
  const reason = /^Version 2\.0\.0 changes data .* version 1\.0\.0 cannot use \("1-short" of "switchable"\)/
  t.match(await node.attempt(1), { to: '2.0.0', result: 'failed', reason })
  await node.runs('1.0.0')
  await node.change('2.0.1', 'contracts', { withoutWayBack: true })
  t.match(await node.attempt(2), { to: '2.0.1', result: 'installed' })
  t.match(await (await node.ask({ action: 'look' })).json(), { wayBack: null })
})

for (const [behavior, reason] of [
  ['dies', /It died 3 times within 10 minutes/],
  ['hangs', /It died 3 times .+ It did not answer any more/],
] as const) {
  test(`a version that ${behavior} after clients reached it is left, with all that was written`, async (t) => {
    const node = await supervisedNode(t, { answerSeconds: behavior === 'hangs' ? 1 : 30 })
    await node.post('/rows', { text: 'before' })
    t.equal((await node.change('2.0.0', behavior)).status, 200)
    t.match(await node.attempt(2), { from: '2.0.0', to: '1.0.0', result: 'went back', reason })
    await node.runs('1.0.0')
    t.match(await node.get('/rows'), ['start of 1.0.0', 'before', 'start of 2.0.0'])
    await node.supervisor.end('SIGTERM')
    t.strictSame(
      readdirSync(node.releases).filter((name) => name.startsWith('before-')),
      [],
    )
  })
}

test('a supervisor waits for the port while the node of a former supervisor ends', async (t) => {
  const node = await supervisedNode(t)
  await node.supervisor.end('SIGTERM')
  const holder = createServer().listen(Number(node.url.port), '127.0.0.1')
  await once(holder, 'listening')
  node.start()
  await node.supervisor.printed('is still in use')
  holder.close()
  await node.runs('1.0.0')
  t.same(await node.supervisor.end('SIGTERM'), [0, null])
})
