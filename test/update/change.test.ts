import { once } from 'node:events'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { get } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { supervisedNode } from './supervised-node.ts'

tap.setTimeout(120_000)
// The tests mostly wait for nodes that start.
tap.jobs = 3

test('a change of the release refuses no connection, and the way back keeps what was written', async (t) => {
  const node = await supervisedNode(t)
  t.match(await (await node.ask({ action: 'look' })).json(), { wayBack: null, history: [] })
  await node.post('/rows', { text: 'before' })

  const failures: unknown[] = []
  let longestMs = 0
  let isOver = false
  const polling = (async () => {
    while (!isOver) {
      const began = performance.now()
      await new Promise<void>((resolve) => {
        get(new URL('/version', node.url), { agent: false }, (answer) =>
          answer.resume().on('end', resolve),
        ).on('error', (error) => {
          failures.push(error)
          resolve()
        })
      })
      longestMs = Math.max(longestMs, performance.now() - began)
    }
  })()
  t.equal((await node.change('2.0.0')).status, 200)
  await node.attempt(1)
  isOver = true
  await polling
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
    node.output(),
    'Version 1.0.0 runs again, with all data. Version 2.0.0 was left: A test asks for it.',
  )
  t.strictSame(await node.end('SIGTERM'), [0, null])
})

for (const [behavior, reason] of [
  ['fails', /the new version is broken/],
  ['exits', /It ended with the code/],
  ['unhealthy', /the check "switchable" says unhealthy/],
] as const) {
  test(`a new version that ${behavior} never reaches clients, and leaves no trace in the data`, async (t) => {
    const node = await supervisedNode(t)
    await node.post('/rows', { text: 'before' })
    t.equal((await node.change('2.0.0', behavior)).status, 200)
    t.match(await node.attempt(1), { to: '2.0.0', result: 'failed', reason })
    await node.runs('1.0.0')
    t.strictSame(await node.get('/rows'), ['start of 1.0.0', 'before', 'start of 1.0.0'])
    t.notOk(existsSync(join(node.releases, 'before-2.0.0')))
    await node.end('SIGTERM')
  })
}

for (const [behavior, reason] of [
  ['dies', /It died 3 times within 10 minutes/],
  ['hangs', /It died 3 times .+ It did not answer any more/],
] as const) {
  test(`a version that ${behavior} after clients reached it is left, with all that was written`, async (t) => {
    const node = await supervisedNode(t, { answerSeconds: 1 })
    await node.post('/rows', { text: 'before' })
    t.equal((await node.change('2.0.0', behavior)).status, 200)
    t.match(await node.attempt(2), { from: '2.0.0', to: '1.0.0', result: 'went back', reason })
    await node.runs('1.0.0')
    t.match(await node.get('/rows'), ['start of 1.0.0', 'before', 'start of 2.0.0'])
    await node.end('SIGTERM')
    t.strictSame(
      readdirSync(node.releases).filter((name) => name.startsWith('before-')),
      [],
    )
  })
}

test('a supervisor waits for the port while the node of a former supervisor ends', async (t) => {
  const node = await supervisedNode(t)
  await node.end('SIGTERM')
  const holder = createServer().listen(Number(node.url.port), '127.0.0.1')
  await once(holder, 'listening')
  await node.start()
  while (!node.output().includes('is still in use')) {
    await once(node.supervisor.stdout ?? node.supervisor, 'data')
  }
  holder.close()
  await node.runs('1.0.0')
  t.same(await node.end('SIGTERM'), [0, null])
})
