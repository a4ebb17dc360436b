import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, linkSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { runCommand } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { freePort } from '../free-ports.ts'
import { fromFixtures, signInOwner, startNodeProcess } from './node-process.ts'

const plugins = fromFixtures(['trusting-login', 'restarts', 'counts-looks'], true)

/** Starts a node on trial, as a supervisor does. */
async function startTrial(t: Test, port: number, configuration: Readonly<Record<string, unknown>> = {}) {
  const node = await startNodeProcess(
    { plugins, ...configuration },
    { args: ['--port', String(port), '--trial', 'trial.sock'], ipc: true },
  )
  t.teardown(() => node.remove())
  const socket = join(dirname(node.file), 'trial.sock')
  const [message] = await once(node.child, 'message')
  t.strictSame(message, { nodekeep: 'on trial', contractions: [] })
  return { node, socket }
}

async function get(socketPath: string, path: string): Promise<{ status: number; body: string }> {
  const sent = request({ socketPath, path, agent: false, headers: { host: 'localhost' } }).end()
  const [response] = await once(sent, 'response')
  return { status: response.statusCode, body: await text(response) }
}

async function refusesConnections(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return !connected
}

test('a node on trial serves its parent only, and everybody once it is admitted', async (t) => {
  const port = await freePort()
  const { node, socket } = await startTrial(t, port)
  t.equal(statSync(socket).mode & 0o077, 0, 'no other user can open the socket')
  for (const looks of ['1', '2', '3']) {
    const { status, body } = await get(socket, '/health')
    t.equal(status, 200)
    t.match(JSON.parse(body), { status: 'ok', ipfs: looks }, 'it looks at its health anew each time')
  }
  t.ok(await refusesConnections(port))
  t.notOk(node.log().some(({ msg }) => msg === 'serving'))

  node.child.send({ nodekeep: 'admit' })
  const [message] = await once(node.child, 'message')
  t.strictSame(message, { nodekeep: 'serving', url: `http://127.0.0.1:${port}/` })
  await node.logged(({ msg }) => msg === 'serving')
  t.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200)
  node.child.kill('SIGTERM')
  t.match(await node.end, { code: 0 })
  t.notOk(existsSync(socket))
})

test('a trial that got its owner by the command line shows no claim code when it is admitted', async (t) => {
  const { node } = await startTrial(t, 0, { auth: {} })
  const wallet = '0x1111111111111111111111111111111111111111'
  const args = ['session', 'create', '--wallet', wallet, '--config', 'nodekeep.json']
  t.match(await runCommand(args, { cwd: node.folder }), { code: 0 })
  node.child.send({ nodekeep: 'admit' })
  const url = await node.ready
  t.equal((await fetch(new URL('/health', url))).status, 200)
  node.child.kill('SIGTERM')
  const { stderr } = await node.end
  t.match(stderr, 'Next')
  t.notMatch(stderr, /no owner|claim code/)
})

test('a trial ends when its parent asks', async (t) => {
  const { node } = await startTrial(t, await freePort())
  node.child.kill('SIGTERM')
  t.match(await node.end, { code: 0 })
})

for (const [message, option] of [
  ['on trial', ['--trial', 'trial.sock']],
  ['configure', ['--configured-by-parent']],
] as const) {
  test(`a node that has sent "${message}" ends when its parent is gone`, async (t) => {
    const folder = t.testdir({ 'nodekeep.json': JSON.stringify({ data: './data', plugins: {} }) })
    const cli = fileURLToPath(new URL('../../kernel/bin/nodekeep.js', import.meta.url))
    const args = ['--conditions=nodekeep-source', cli, 'start', ...option]
    const spawnTrial = `require('node:child_process')
    .spawn(process.execPath, ${JSON.stringify(args)}, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    .on('message', ({ nodekeep }) => console.log(nodekeep))`
    const { PATH, XDG_CACHE_HOME } = process.env
    const parent = spawn(process.execPath, ['--eval', spawnTrial], {
      cwd: folder,
      env: { PATH, XDG_CACHE_HOME },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    t.teardown(() => parent.kill('SIGKILL'))
    const [output] = await once(parent.stdout.setEncoding('utf8'), 'data')
    t.match(output, message)
    // The node has the other end of the pipe, so the pipe closes when the node has ended.
    parent.kill('SIGKILL')
    await once(parent.stdout, 'close')
  })
}

for (const [option, ...value] of [['--trial', 'trial.sock'], ['--configured-by-parent']] as const) {
  for (const launcher of [false, true]) {
    const how = launcher ? ' of a checkout' : ''
    test(`${option} without a parent is refused by a command${how}`, async (t) => {
      const node = await startNodeProcess({ plugins }, { args: [option, ...value], launcher })
      t.teardown(() => node.remove())
      const { code, stderr } = await node.end
      t.equal(code, 1)
      t.match(
        stderr,
        new RegExp(`^nodekeep: "${option}" is for programs that start a node with an IPC channel`),
      )
    })
  }
}

test('a signal ends a node that waits for its configuration', async (t) => {
  const node = await startNodeProcess({}, { args: ['--configured-by-parent'], ipc: true })
  t.teardown(() => node.remove())
  t.strictSame(await once(node.child, 'message'), [{ nodekeep: 'configure' }, undefined])
  node.child.kill('SIGTERM')
  t.match(await node.end, { code: 0, stderr: '' })
})

test('a parent that is gone before its launcher listens ends the node without a stack trace', async (t) => {
  const folder = t.testdir({ 'nodekeep.json': JSON.stringify({ data: './data', plugins: {} }) })
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const { PATH, XDG_CACHE_HOME } = process.env
  const launcher = spawn(
    process.execPath,
    [
      '--import',
      'data:text/javascript,process.disconnect()',
      join(root, 'runtime.js'),
      join(root, 'kernel/bin/nodekeep.js'),
      ...['start', '--trial', 'trial.sock'],
    ],
    { cwd: folder, env: { PATH, XDG_CACHE_HOME }, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
  )
  const ended = once(launcher, 'exit')
  const stderr = await text(launcher.stderr as Readable)
  const [code] = await ended
  // The loss closes the channel of the node. It ends by a signal, before or while it listens for signals, or finds the channel closed.
  t.match(`${code} ${stderr}`, /^(143 |0 |1 nodekeep: The program that started this trial has ended\.\n)$/)
})

test('a plugin restarts a supervised node: it stops gracefully and ends with code 75', async (t) => {
  const node = await startNodeProcess({ plugins, supervised: true })
  t.teardown(() => node.remove())
  const owner = await signInOwner(await node.ready)
  t.equal((await owner.ask('/restart', { method: 'POST' })).status, 200, 'the request is still answered')
  t.match(await node.end, { code: 75 })
  t.ok(node.log().some(({ reason }) => reason === 'A test asks for it.'))
})

test('a restart is refused where nothing would start the node again', async (t) => {
  const node = await startNodeProcess({ plugins })
  t.teardown(() => node.remove())
  const owner = await signInOwner(await node.ready)
  const answer = await owner.ask('/restart', { method: 'POST' })
  t.equal(answer.status, 409)
  t.match(await answer.json(), { code: 'CONFLICT', message: /"supervised": true/ })
  t.equal((await owner.ask('/health')).status, 200)
})

test('a trial replaces the socket that a killed one left, and a checkout passes its messages on', async (t) => {
  // The path of a socket has at most 107 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-trial-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const config = { data: './data', server: { port: 0 }, plugins: {} }
  writeFileSync(join(folder, 'nodekeep.json'), JSON.stringify(config))
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const { PATH, XDG_CACHE_HOME } = process.env
  const start = () =>
    spawn(
      process.execPath,
      [join(root, 'runtime.js'), join(root, 'kernel/bin/nodekeep.js'), 'start', '--trial', 'trial.sock'],
      {
        cwd: folder,
        env: { PATH, XDG_CACHE_HOME },
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      },
    )
  const killed = createServer().listen(join(folder, 'left.sock'))
  await once(killed, 'listening')
  linkSync(join(folder, 'left.sock'), join(folder, 'trial.sock'))
  killed.close()

  const launcher = start()
  t.teardown(() => launcher.kill('SIGKILL'))
  t.strictSame(await once(launcher, 'message'), [{ nodekeep: 'on trial', contractions: [] }, undefined])
  launcher.send({ nodekeep: 'admit' })
  t.match(await once(launcher, 'message'), [{ nodekeep: 'serving', url: /^http/ }])
  launcher.kill('SIGTERM')
  t.strictSame(await once(launcher, 'exit'), [0, null])
})

test('a checkout passes the code of a restart on', async (t) => {
  const runtime = fileURLToPath(new URL('../../runtime.js', import.meta.url))
  const child = spawn(process.execPath, [runtime, '--eval', 'process.exit(75)'], { stdio: 'ignore' })
  t.strictSame(await once(child, 'exit'), [75, null])
})
