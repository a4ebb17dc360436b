import { once } from 'node:events'
import { existsSync, readlinkSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { BoundSocket, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { onSmallDisk } from '@nodekeep/kernel/testing'
import { lockDataFolder } from '@nodekeep/plugin-sdk/data-folder'
import tap, { type Test, test } from 'tap'
import { root } from '../run/command.ts'
import { supervisedNode } from './supervised-node.ts'

// The tests mostly wait for nodes that start.
tap.jobs = 3

const headers = { headers: { connection: 'close', 'content-type': 'application/json' } }

for (const [signal, receiver] of [
  ['SIGINT', 'the process group, as Ctrl+C does'],
  ['SIGTERM', 'the supervisor, as systemd does, which has passed its socket'],
] as const) {
  test(`a ${signal} to ${receiver}, reaches the node once, which lets requests finish`, async (t) => {
    const socket = signal === 'SIGTERM' ? new BoundSocket({ host: '127.0.0.1', port: 0 }) : null
    t.teardown(() => socket?.close())
    const node = await supervisedNode(t, {}, { ownGroup: true, ...(socket && { socket: socket.fd() }) })
    let { url } = node
    if (socket !== null) {
      const { port } = socket.address() as { port: number }
      await node.supervisor.printed(`The node listens on the port ${port}, which was passed to it.`)
      url = new URL(`http://127.0.0.1:${port}`)
      t.match(await (await fetch(new URL('/version', url), headers)).json(), { version: '1.0.0' })
    }
    const body = JSON.stringify({ text: 'finish me' })
    const slow = fetch(new URL('/slow', url), { method: 'POST', body, ...headers })
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

test('a node that asks for a restart is started again, and connections wait while it takes none', async (t) => {
  const node = await supervisedNode(t, { answerSeconds: 300 })
  const processId = async () => (await node.get<{ pid: number }>('/version')).pid
  const first = await processId()
  t.equal((await node.ask({ action: 'restart' })).status, 200)
  while ((await processId()) === first) await delay(50)
  t.strictSame(await node.get('/rows'), ['start of 1.0.0', 'start of 1.0.0'])
  t.notMatch(node.supervisor.output, 'The node died')
  const pid = await processId()
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

test('a stop while a release changes ends the change; only an old node of the same data is waited for', async (t) => {
  const node = await supervisedNode(t)
  const slow = node.post('/slow', {}).catch(() => null)
  while (!existsSync(join(node.data, 'begun'))) await delay(20)
  await node.change('2.0.0', 'fine', { waitMs: 60_000 })
  t.strictSame(await node.supervisor.end('SIGTERM'), [0, null])
  await slow
  t.match(await node.attempt(1), {
    result: 'failed',
    reason: 'The supervisor was stopped during the change.',
  })
  const holder = createServer().listen(Number(node.url.port), '127.0.0.1')
  await once(holder, 'listening')
  const other = join(node.folder, 'other')
  const began = node.supervisor.output.length
  node.supervisor.start(join(node.releases, 'current/bin/nodekeep'), ['supervise', '--data', other])
  t.strictSame(await node.supervisor.ended(), [1, null])
  t.match(node.supervisor.output.slice(began), /^nodekeep: .*is in use/)
  t.notOk(existsSync(other))
  const lock = lockDataFolder(node.data)
  node.start()
  await node.supervisor.printed(`The process ${process.pid} still has ${node.data}.`)
  lock.release()
  await node.supervisor.printed('is still in use')
  holder.close()
  await node.runs('1.0.0')
})

test('a disk that is full while databases are copied fails the change, and does not keep the node from going back', async (t) => {
  const found = await onSmallDisk('64m', new URL('fixtures/full-disk-program.ts', import.meta.url))
  if (found === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  t.match(found, {
    attempt: { to: '2.0.0', result: 'failed', reason: 'The disk was full while the databases were copied.' },
    rows: ['start of 1.0.0', 'before', 'start of 1.0.0', 'after'],
    left: [],
    back: { status: 200, attempt: { to: '1.0.0', result: 'went back', reason: 'A test asks for it.' } },
  })
})

const day = 24 * 60 * 60 * 1000

/** Lets a version work after an update. No node runs then. */
async function updatedNode(t: Test) {
  const node = await supervisedNode(t)
  await node.change('2.0.0', 'fails-later')
  t.match(await node.attempt(1), { result: 'installed' })
  await node.runs('2.0.0')
  await node.post('/rows', { text: 'written since' })
  await node.supervisor.end('SIGTERM')
  return node
}

/** Makes it seem that the supervisor has run for some days since clients have reached the release in use. */
async function admittedBefore({ releases }: { readonly releases: string }, days: number): Promise<void> {
  const file = join(releases, 'state.json')
  const state = JSON.parse(await readFile(file, 'utf8'))
  state.ranMs = days * day
  await writeFile(file, JSON.stringify(state))
}

/** Starts a node as systemd does. */
function launch({ releases, supervisor }: Awaited<ReturnType<typeof supervisedNode>>): void {
  const launcher = join(root, 'plugins/update/bin/nodekeep-service')
  supervisor.start('/usr/bin/env', [`NODEKEEP_RELEASES__FOLDER=${releases}`, launcher, releases])
}

test('a version that works and then does not start is left within three days, with all that was written', async (t) => {
  const node = await updatedNode(t)
  const { supervisor } = node
  await writeFile(join(node.data, 'later'), '')
  await admittedBefore(node, 4)
  for (const option of [[], ['--back']]) {
    supervisor.start(join(node.releases, 'current/bin/nodekeep'), ['supervise', ...option])
    t.strictSame(await supervisor.ended(), [1, null])
  }
  t.match(
    supervisor.output,
    /it is broken now[\s\S]*The way back to version 1\.0\.0 was open for \d+ hours\./,
    'after three days, it stays in use',
  )
  t.equal((await node.history()).length, 1)
  await admittedBefore(node, 2)
  node.start()
  await node.runs('1.0.0')
  t.match(await node.attempt(2), {
    from: '2.0.0',
    to: '1.0.0',
    result: 'went back',
    reason: /^It died 3 times within 10 minutes\..*"switchable" .* it is broken now[^\n]*$/,
  })
  t.ok((await node.get<string[]>('/rows')).includes('written since'))
})

test('a release whose supervisor does not work is left, but not for a wrong configuration', async (t) => {
  const node = await updatedNode(t)
  const configuration = join(node.folder, 'nodekeep.json')
  const right = await readFile(configuration, 'utf8')
  const count = join(node.releases, 'failed-starts')
  await writeFile(configuration, '{ "server": { "port": "none" } }')
  launch(node)
  t.strictSame(await node.supervisor.ended(), [1, null])
  t.notOk(existsSync(count), 'another release would not help')
  await writeFile(configuration, right)
  await writeFile(join(node.releases, '2.0.0/bin/nodekeep'), '#!/bin/sh\nexit 2\n')
  for (const starts of [1, 2, 3]) {
    launch(node)
    t.strictSame(await node.supervisor.ended(), [2, null])
    t.equal(Number(await readFile(count, 'utf8')), starts)
  }
  launch(node)
  await node.runs('1.0.0')
  t.match(await node.attempt(2), {
    result: 'went back',
    reason: 'Its supervisor has failed 3 times, one after the other.',
  })
  t.ok((await node.get<string[]>('/rows')).includes('written since'))
  while (existsSync(count)) await delay(20)
})

test('a newer release that a person starts is tried, and replaces the one in use until the way back', async (t) => {
  const node = await supervisedNode(t)
  await node.post('/rows', { text: 'before' })
  const { supervisor } = node
  const unpacked = join(node.folder, 'nodekeep-2.0.0')
  // A release from sources does not know its folder, so an option names it.
  const start = async (version: string, ...options: string[]) => {
    await supervisor.end('SIGTERM')
    const command = join(unpacked, 'bin/nodekeep')
    supervisor.start(command, [
      'supervise',
      '--release',
      join(node.folder, `nodekeep-${version}`),
      ...options,
    ])
  }
  await node.writeRelease(unpacked, '2.0.0', 'exits')
  await start('2.0.0')
  await node.runs('1.0.0')
  t.match(await node.attempt(1), {
    to: '2.0.0',
    result: 'failed',
    failedOnTrial: true,
    reason: /It ended with the code/,
  })
  await node.writeRelease(unpacked, '2.0.0')
  await start('2.0.0')
  await supervisor.printed('Version 1.0.0 runs, since version 2.0.0 was left here before')
  await start('2.0.0', '--again')
  await node.runs('2.0.0')
  t.match(await node.attempt(2), { from: '1.0.0', to: '2.0.0', result: 'installed' })
  t.equal(readlinkSync(join(node.releases, 'current')), unpacked)
  const rows = await node.get<string[]>('/rows')
  t.match([rows[1], rows.at(-1)], ['before', 'start of 2.0.0'])
  t.equal(rows.filter((row) => row.endsWith('2.0.0')).length, 1, 'the trial that failed left no trace')
  await node.post('/rows', { text: 'after' })
  await node.writeRelease(join(node.folder, 'nodekeep-1.9.0'), '1.9.0')
  await start('1.9.0')
  await supervisor.printed('Version 2.0.0 runs, since it is newer than version 1.9.0')

  await start('2.0.0', '--back')
  await node.runs('1.0.0')
  const reason = 'The owner of the node asked for it.'
  t.match(await node.attempt(3), { from: '2.0.0', to: '1.0.0', result: 'went back', reason })
  t.ok((await node.get<string[]>('/rows')).includes('after'))
  await start('2.0.0', '--back')
  t.strictSame(await supervisor.ended(), [1, null])
  t.match(supervisor.output, 'There is no former release to go back to.')
})
