import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test, test } from 'tap'
import { fixtures } from '../loader/failing-plugins.ts'
import { cli, type ProcessOptions, startNodeProcess } from './node-process.ts'

// The tests run concurrently, because they mostly wait until a standstill counts as one.
t.jobs = 6

async function start(t: Test, plugin: string, section?: object, options?: ProcessOptions) {
  const plugins = { [plugin]: { from: join(fixtures, plugin) } }
  const loader = { setupTimeoutMs: 60_000, stopTimeoutMs: 60_000 }
  const node = await startNodeProcess({ plugins, loader, ...(section && { [plugin]: section }) }, options)
  t.teardown(() => node.remove())
  return node
}

const isFatal = ({ level }: Record<string, unknown>) => level === 'fatal'
/** On a busy machine, the start itself may count as a standstill. */
const isOfExits = (line: Record<string, unknown>) => isFatal(line) && line.plugin === 'exits'

test('a plugin that calls process.exit in its setup is named with its stack, and the exit code is 1', async (t) => {
  const node = await start(t, 'exits', { inSetup: true })
  t.match(await node.end, { code: 1, signal: null })
  t.match(node.log().filter(isOfExits), [
    {
      plugin: 'exits',
      msg: 'The plugin "exits" ends the node: process.exit(0) was called.',
      err: { message: 'process.exit(0) was called.', stack: /at .*setup .*exits\/index\.js:8/ },
    },
  ])
})

test('a plugin that calls process.exit in a route is named too', async (t) => {
  const node = await start(t, 'exits')
  await t.rejects(fetch(new URL('/exits', await node.ready)))
  t.match(await node.end, { code: 1, signal: null })
  t.match(node.log().filter(isOfExits), [{ plugin: 'exits', err: { stack: /at leave .*exits\/index\.js/ } }])
})

test('a setup that never leaves its loop is reported, and a signal ends the node then', async (t) => {
  const node = await start(t, 'loops', { where: 'setup' })
  t.match(await node.logged(isFatal), {
    plugin: 'loops',
    seconds: 10,
    msg: /^The plugin "loops" has kept the event loop busy for 10 s/,
    err: { stack: /at loop .*loops\/index\.js:\d+:\d+\)\n\s+at .*setup .*loops\/index\.js/ },
  })
  node.child.kill('SIGTERM')
  t.match(await node.end, { signal: 'SIGTERM' })
})

test('a route that never leaves its loop is reported with its request', async (t) => {
  const node = await start(t, 'loops')
  const answer = t.rejects(fetch(new URL('/loops/7?key=hidden', await node.ready)))
  t.match(await node.logged(isFatal), {
    plugin: 'loops',
    method: 'GET',
    path: '/loops/7',
    reqId: String,
    err: { stack: /at loop .*loops\/index\.js/ },
  })
  node.child.kill('SIGINT')
  t.match(await node.end, { signal: 'SIGINT' })
  await answer
})

test('a stop ends a node whose plugin never leaves a loop', async (t) => {
  const node = await start(t, 'loops', { where: 'stop' })
  await node.ready
  node.child.kill('SIGTERM')
  t.match(await node.end, { signal: 'SIGKILL' })
  t.match(node.log().filter(isFatal), [
    { plugin: 'loops', err: { stack: /at loop .*loops\/index\.js/ } },
    { msg: 'The node was asked to stop, but its event loop stands still. The process is ended.' },
  ])
})

test('a standstill without JavaScript is reported, and its plugin and request when the call returns', async (t) => {
  const end = join(t.testdir(), 'end')
  const node = await start(t, 'loops', { sleepsUntil: end })
  const answer = fetch(new URL('/sleeps', await node.ready))
  t.match(await node.logged(isFatal), { msg: /has stood still for 10 s.* It does not run JavaScript/ })
  await writeFile(end, '')
  const returned = await node.logged((line) => isFatal(line) && line.plugin !== undefined)
  t.match(returned, {
    plugin: 'loops',
    method: 'GET',
    path: '/sleeps',
  })
  t.equal((await answer).status, 200)
})

for (const [what, args] of [
  ['an import under `config check`', ['config', 'check']],
  ['a command of a plugin', ['loops', 'loop']],
] as const) {
  test(`${what} that never leaves its loop is reported, and a signal ends it then`, async (t) => {
    const plugin = args[0] === 'config' ? 'loops-at-import' : 'loops'
    const plugins = { [plugin]: { from: join(fixtures, plugin) } }
    const folder = t.testdir({ 'nodekeep.json': JSON.stringify({ plugins }) })
    const { PATH, XDG_CACHE_HOME } = process.env
    const child = spawn(process.execPath, ['--conditions=nodekeep-source', cli, ...args], {
      cwd: folder,
      env: { PATH, XDG_CACHE_HOME },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const ended = once(child, 'close')
    let printed = ''
    for await (const text of child.stderr.setEncoding('utf8')) {
      printed += text
      if (printed.includes('"stack"') && printed.endsWith('\n')) break
    }
    t.match(
      printed,
      new RegExp(
        `The plugin "${plugin}" has kept the event loop busy for \\d+ s, so the command does not go on\\.`,
      ),
    )
    t.match(printed, /loops[\w-]*\/\w+\.js:\d+/)
    child.kill('SIGINT')
    t.match(await ended, [null, 'SIGINT'])
  })
}

for (const launcher of [true, false]) {
  test(`a full heap leaves a report without the environment, ${launcher ? 'with' : 'without'} the launcher`, async (t) => {
    const env = { NODE_OPTIONS: '--max-old-space-size=64', MODEL_KEY: 'a-secret-of-the-environment' }
    const node = await start(t, 'fills-heap', undefined, { env, launcher })
    const { code, signal, stderr } = await node.end
    t.ok(code === 134 || signal === 'SIGABRT', `${code} ${signal}`)
    const reports = join(node.folder, 'data/reports')
    t.match(stderr, `Writing Node.js report to file: ${join(reports, 'fatal-error.json')}`)
    t.equal((await stat(reports)).mode & 0o777, 0o700)
    const report = await readFile(join(reports, 'fatal-error.json'), 'utf8')
    t.match(JSON.parse(report), { header: { trigger: 'OOMError' }, javascriptHeap: Object })
    t.notMatch(report, env.MODEL_KEY)
  })
}

for (const [how, call, end] of [
  ['reallyExit', 'process.reallyExit(0)', { code: 1, signal: null }],
  ['abort', 'process.abort()', { signal: 'SIGABRT' }],
  ['execve', "process.execve('/bin/true')", { code: 0, signal: null }],
  ['kill', "process.kill(process.pid, 'SIGKILL')", { signal: 'SIGKILL' }],
  ['terminate', "process.kill(process.pid, 'SIGTERM')", { code: 0, signal: null }],
] as const) {
  test(`a plugin that calls ${call} is named`, async (t) => {
    const node = await start(t, 'exits')
    await fetch(new URL(`/exits/${how}`, await node.ready)).catch(() => {})
    t.match(await node.end, end)
    const msg = `The plugin "exits" ends the node: ${call} was called.`
    t.match(node.log().filter(isOfExits), [
      { plugin: 'exits', msg, err: { stack: /^Error: .*\n\s+at .*exits\/index\.js/ } },
    ])
  })
}

test('a plugin that sends a signal to the group of the node is named', async (t) => {
  const node = await start(t, 'exits')
  // The node of a test leads no group, so the signal reaches nobody.
  await fetch(new URL('/exits/killGroup', await node.ready))
  t.match(await node.logged(isOfExits), {
    plugin: 'exits',
    msg: 'The plugin "exits" ends the node: process.kill(-process.pid, \'SIGTERM\') was called.',
  })
})
