import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { BoundSocket, connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { onSmallDisk } from '@nodekeep/kernel/testing'
import tap, { type Test, test } from 'tap'
import { root } from '../run/command.ts'
import { supervisedNode } from './supervised-node.ts'

tap.setTimeout(300_000)
// The tests mostly wait for nodes that start.
tap.jobs = 3

const hour = 60 * 60 * 1000

/** Makes it seem that clients have reached the release in use some time ago. */
async function admittedBefore({ releases }: { readonly releases: string }, ms: number): Promise<void> {
  const file = join(releases, 'state.json')
  const state = JSON.parse(await readFile(file, 'utf8'))
  state.admission.at = new Date(Date.now() - ms).toISOString()
  await writeFile(file, JSON.stringify(state))
}

test('a node that asks for a restart is started again at once', async (t) => {
  const node = await supervisedNode(t)
  const { pid } = await node.get<{ pid: number }>('/version')
  t.equal((await node.ask({ action: 'restart' })).status, 200)
  while ((await node.get<{ pid: number }>('/version')).pid === pid) await delay(20)
  t.strictSame(await node.get('/rows'), ['start of 1.0.0', 'start of 1.0.0'])
  t.notMatch(node.supervisor.output, 'The node died')
})

for (const [signal, receiver] of [
  ['SIGINT', 'the process group, as Ctrl+C does'],
  ['SIGTERM', 'the supervisor, as systemd does'],
] as const) {
  test(`a ${signal} to ${receiver}, reaches the node once, which lets requests finish`, async (t) => {
    const node = await supervisedNode(t, {}, { ownGroup: true })
    const slow = node.post('/slow', { text: 'finish me' })
    while (!existsSync(join(node.data, 'begun'))) await delay(20)
    const ended = node.supervisor.ended()
    process.kill(signal === 'SIGINT' ? -node.supervisor.pid : node.supervisor.pid, signal)
    await node.supervisor.printed('The node is stopping')
    await writeFile(join(node.data, 'go-on'), '')
    t.same(await (await slow).json(), { got: { text: 'finish me' } })
    t.strictSame(await ended, [0, null])
    t.equal(node.supervisor.output.split('The node is stopping').length, 2)
  })
}

test('a supervisor passes on a socket that systemd has passed to it', async (t) => {
  const socket = new BoundSocket({ host: '127.0.0.1', port: 0 })
  t.teardown(() => socket.close())
  const { port } = socket.address() as { port: number }
  const node = await supervisedNode(t, {}, { socket: socket.fd() })
  await node.supervisor.printed(`The node listens on the port ${port}, which was passed to it.`)
  const answer = await fetch(`http://127.0.0.1:${port}/version`, { headers: { connection: 'close' } })
  t.match(await answer.json(), { version: '1.0.0' })
  t.strictSame(await node.supervisor.end('SIGTERM'), [0, null])
})

test('connections wait while the node takes none, and are served afterwards', async (t) => {
  const node = await supervisedNode(t, { answerSeconds: 300 })
  const { pid } = await node.get<{ pid: number }>('/version')
  process.kill(pid, 'SIGSTOP')
  // Node's own limit for the queue of the system is 511.
  const clients = Array.from({ length: 700 }, () => connect(Number(node.url.port), '127.0.0.1'))
  await Promise.all(clients.map((client) => once(client, 'connect')))
  process.kill(pid, 'SIGCONT')
  for (const client of clients)
    client.write('GET /version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
  const answers = await Promise.all(clients.map((client) => text(client)))
  t.ok(answers.every((answer) => answer.startsWith('HTTP/1.1 200 ')))
})

test('a stop while a release changes ends the change, and the next start runs the former version', async (t) => {
  const node = await supervisedNode(t)
  const slow = node.post('/slow', {}).catch(() => null)
  while (!existsSync(join(node.data, 'begun'))) await delay(20)
  await node.change('2.0.0', 'fine', { patienceMs: 60_000 })
  t.strictSame(await node.supervisor.end('SIGTERM'), [0, null])
  await slow
  t.match(await node.attempt(1), {
    result: 'failed',
    reason: 'The supervisor was stopped during the change.',
  })
  node.start()
  await node.runs('1.0.0')
})

test('a disk that is full while databases are copied fails the change, and the former version serves', async (t) => {
  const found = await onSmallDisk('64m', new URL('fixtures/full-disk-program.ts', import.meta.url))
  if (found === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  t.match(found, {
    attempt: { to: '2.0.0', result: 'failed', reason: 'The disk was full while the databases were copied.' },
    rows: ['start of 1.0.0', 'before', 'start of 1.0.0', 'after'],
    left: [],
  })
})

/** Lets a version work, and then no longer start. Returns a start as systemd does it. */
async function failsAfter(t: Test, days: number) {
  const node = await supervisedNode(t)
  await node.change('2.0.0', 'fails-later')
  t.match(await node.attempt(1), { result: 'installed' })
  await node.runs('2.0.0')
  await node.post('/rows', { text: 'written since' })
  await node.supervisor.end('SIGTERM')
  await admittedBefore(node, days * 24 * hour)
  await writeFile(join(node.data, 'later'), '')
  const launch = () => node.supervisor.start(join(root, 'kernel/bin/nodekeep-service'), [node.releases])
  return { node, launch }
}

test('a version that works and does not start two days later is left, with all that was written', async (t) => {
  const { node, launch } = await failsAfter(t, 2)
  for (const _ of [1, 2, 3]) {
    launch()
    t.strictSame(await node.supervisor.ended(), [1, null])
  }
  launch()
  await node.runs('1.0.0')
  t.match(await node.attempt(2), {
    from: '2.0.0',
    to: '1.0.0',
    result: 'went back',
    reason: 'It did not start 3 times, one after the other.',
  })
  t.ok((await node.get<string[]>('/rows')).includes('written since'))
})

test('after three days, a version that does not start stays in use', async (t) => {
  const { node, launch } = await failsAfter(t, 4)
  await writeFile(join(node.releases, 'failed-starts'), '3')
  launch()
  t.strictSame(await node.supervisor.ended(), [1, null])
  t.match(node.supervisor.output, 'The way back to version 1.0.0 was open for 72 hours.')
  t.match(node.supervisor.output, 'it is broken now')
})

test('a clock that was set back leaves the way back open', async (t) => {
  const node = await supervisedNode(t)
  await node.change('2.0.0')
  t.match(await node.attempt(1), { result: 'installed' })
  await node.supervisor.end('SIGTERM')
  await admittedBefore(node, -2 * hour)
  node.start()
  await node.runs('2.0.0')
  t.match(await (await node.ask({ action: 'look' })).json(), { wayBack: { version: '1.0.0' } })
  t.equal((await node.ask({ action: 'back' })).status, 200)
  await node.runs('1.0.0')
  t.match(await node.attempt(2), { from: '2.0.0', to: '1.0.0', result: 'went back' })
})
