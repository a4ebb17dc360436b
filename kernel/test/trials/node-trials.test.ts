import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin, type NodeTrials, Trials } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { createTestNode } from '../../src/testing/create-test-node.ts'
import { commandFolder } from '../cli/fixtures/nodekeep.ts'
import { startedNode } from '../cli/fixtures/started-node.ts'
import { until } from '../state/fixtures/until.ts'

const sdk = JSON.stringify(import.meta.resolve('@nodekeep/plugin-sdk'))

/** A plugin that says where it is and what it was told, and that can be made to fail or to hang. */
const code = `import { appendFileSync, readFileSync, existsSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { definePlugin, Type } from ${sdk}
export default definePlugin({
  id: 'shelf',
  config: Type.Object({ root: Type.Optional(Type.String()), word: Type.Optional(Type.String()) }),
  async setup({ config, nodeDataDir, routes, onServing }) {
    const order = join(nodeDataDir, 'order')
    const what = existsSync(order) ? readFileSync(order, 'utf8') : ''
    if (what === 'fail') throw new Error('the shelf is broken')
    if (what === 'hang') {
      appendFileSync(join(nodeDataDir, 'hangs'), 'x')
      await new Promise(() => {})
    }
    onServing(() => appendFileSync(join(nodeDataDir, 'served'), 'x'))
    routes((app) => {
      app.get('/shelf', { config: { access: 'public', publicReason: 'test' } }, async () => ({
        ...config, nodeDataDir, pid: process.pid, priority: getPriority(),
      }))
      app.post('/shelf', { config: { access: 'public', publicReason: 'test' } }, async (request) => ({
        got: request.body,
      }))
      app.get('/shelf/never', { config: { access: 'public', publicReason: 'test' } }, () => {
        appendFileSync(join(nodeDataDir, 'waits'), 'x')
        return new Promise(() => {})
      })
    })
  },
})`

/** Starts a node that has the plugin `shelf`, and returns the service. */
async function nodeWithTrials(t: Test, shelf: Readonly<Record<string, unknown>> = {}, required = true) {
  // The path of a socket is short, so the folder of the test is not used.
  const temporary = mkdtempSync(join(tmpdir(), 'nk-'))
  const { TMPDIR } = process.env
  process.env.TMPDIR = temporary
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
    rmSync(temporary, { recursive: true, force: true })
  })
  const folder = t.testdir({
    shelf: {
      'package.json': JSON.stringify({
        name: 'shelf',
        type: 'module',
        nodekeep: { id: 'shelf', sdk: '^0.1.0', entry: './index.js', folders: { root: 'shelf' } },
      }),
      'index.js': code,
    },
    data: {},
    shelves: {},
  })
  let trials: NodeTrials | undefined
  const probe = definePlugin({
    id: 'probe',
    requires: { trials: Trials },
    setup(context) {
      trials = context.trials
    },
  })
  const node = await createTestNode({
    plugins: [probe],
    folder,
    config: { plugins: { shelf: { from: './shelf', required } }, shelf, server: { drainSeconds: 0.2 } },
    environment: { NODEKEEP_SHELF__WORD: 'from the environment' },
  })
  t.teardown(() => node.stop())
  return {
    node,
    trials: trials as unknown as NodeTrials,
    data: join(folder, 'data'),
    /** The folders of the sockets of all trials. */
    sockets: () => readdirSync(temporary).filter((name) => name.startsWith('nodekeep-trial-')),
  }
}

test('a second node has the configuration of the running one, and its own folders', async (t) => {
  const absolute = join(t.testdir({}), 'root')
  const { node, trials, data, sockets } = await nodeWithTrials(t, { root: absolute })
  const own = (await (await node.fetch('/shelf')).json()) as { pid: number }
  const root = join(data, 'other')
  const trial = await trials.start({ data, folders: [{ plugin: 'shelf', key: 'root', path: root }] })
  const answer = await trial.fetch('/shelf')
  t.equal(answer.status, 200)
  const other = (await answer.json()) as { pid: number }
  t.match(other, { root, word: 'from the environment', nodeDataDir: data })
  t.not(other.pid, own.pid)
  if (process.platform !== 'win32') t.match(other, { priority: constants.priority.PRIORITY_BELOW_NORMAL })
  t.notOk(existsSync(join(data, 'served')), 'nothing that needs clients has begun')
  t.ok(existsSync(join(node.dataFolder, 'served')))
  t.equal(sockets().length, 1)

  const posted = await trial.fetch('/shelf', {
    method: 'POST',
    body: JSON.stringify({ a: 'b' }),
    headers: { 'content-type': 'application/json' },
  })
  t.strictSame(await posted.json(), { got: { a: 'b' } })
  t.strictSame(await (await trial.fetch('/whoami')).json(), { user: { authenticated: false } })
  await t.rejects(trial.fetch('/whoami', { as: crypto.randomUUID() }), /has no user/)

  await trial.stop()
  await trial.exited
  t.strictSame(sockets(), [], 'its socket is gone')
  t.ok(existsSync(join(data, 'state.sqlite')), 'its data stays')
  await t.rejects(trial.fetch('/shelf'), TypeError)
})

test('a restore is applied by the start, and requests have sessions of its users', async (t) => {
  const { node, trials, data } = await nodeWithTrials(t)
  const { user } = await node.signIn('owner')
  const from = join(data, 'new.sqlite')
  const { DatabaseSync, backup } = await import('node:sqlite')
  using state = new DatabaseSync(join(node.dataFolder, 'state.sqlite'), { readOnly: true })
  await backup(state, from)
  await using trial = await trials.start({
    data,
    restore: {
      backup: 'today',
      takenAt: new Date(),
      moves: [{ from, to: join(data, 'state.sqlite'), previous: join(data, 'previous') }],
    },
  })
  const answer = await trial.fetch('/whoami', { as: user.uuid })
  t.equal(answer.status, 200)
  t.match(await answer.json(), { user: { uuid: user.uuid, username: user.username } })
  t.equal((await trial.fetch('/api/system/plugins', { as: user.uuid })).status, 200)
})

test('a plugin that stops on a trial answers its open requests', async (t) => {
  const { node, trials, data } = await nodeWithTrials(t, {}, false)
  const { user } = await node.signIn('owner')
  const { DatabaseSync, backup } = await import('node:sqlite')
  using state = new DatabaseSync(join(node.dataFolder, 'state.sqlite'), { readOnly: true })
  await backup(state, join(data, 'state.sqlite'))
  await using trial = await trials.start({ data })
  const never = trial.fetch('/shelf/never')
  await until(() => existsSync(join(data, 'waits')))
  const path = '/api/system/plugins/shelf/disable'
  t.equal((await trial.fetch(path, { method: 'POST', as: user.uuid })).status, 200)
  t.equal((await never).status, 503)
})

test('the data and the folders of the running node are refused', async (t) => {
  const absolute = join(t.testdir({}), 'root')
  const { node, trials, data } = await nodeWithTrials(t, { root: absolute })
  await t.rejects(trials.start({ data: node.dataFolder }), {
    code: 'VALIDATION_ERROR',
    message: /data folder of the running node/,
  })
  await t.rejects(trials.start({ data }), {
    code: 'VALIDATION_ERROR',
    message: /"shelf" would use .+ Name another folder for its key "root"/,
  })
  const same = [{ plugin: 'shelf', key: 'root', path: `${absolute}/x/..` }]
  await t.rejects(trials.start({ data, folders: same }), { code: 'VALIDATION_ERROR' })
  t.strictSame(readdirSync(data), [], 'nothing was started there')
})

test('a node that cannot start says why in one line', async (t) => {
  const { trials, data, sockets } = await nodeWithTrials(t)
  writeFileSync(join(data, 'order'), 'fail')
  const error = await trials.start({ data }).then(
    () => null,
    (thrown: Error) => thrown.message,
  )
  t.match(error, /the shelf is broken/)
  t.notMatch(error, '\n')
  t.strictSame(sockets(), [])
})

test('a start is interrupted by its signal, and the stop of the running node ends its trials', async (t) => {
  const { node, trials, data, sockets } = await nodeWithTrials(t)
  writeFileSync(join(data, 'order'), 'hang')
  const interrupted = new AbortController()
  const starting = trials.start({ data, signal: interrupted.signal })
  await until(async () => existsSync(join(data, 'hangs')))
  interrupted.abort(new Error('no longer wanted'))
  await t.rejects(starting, /no longer wanted/)

  writeFileSync(join(data, 'order'), '')
  const trial = await trials.start({ data })
  const { pid } = (await (await trial.fetch('/shelf')).json()) as { pid: number }
  await node.stop()
  await trial.exited
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  t.strictSame(sockets(), [])
  await t.rejects(trials.start({ data }), /is stopping/)
})

test('a trial of a node that was killed ends, and removes its socket', async (t) => {
  const temporary = mkdtempSync(join(tmpdir(), 'nk-'))
  t.teardown(() => rmSync(temporary, { recursive: true, force: true }))
  const folder = await commandFolder(t, { plugins: { tries: { from: './tries' } } })
  const other = join(folder.path, 'other')
  mkdirSync(other)
  mkdirSync(join(folder.path, 'tries'))
  const nodekeep = { id: 'tries', sdk: '^0.1.0', entry: './index.js' }
  const manifest = { name: 'tries', type: 'module', nodekeep }
  writeFileSync(join(folder.path, 'tries', 'package.json'), JSON.stringify(manifest))
  const source = `import { definePlugin, Trials } from ${sdk}
const config = { access: 'public', publicReason: 'test' }
export default definePlugin({
  id: 'tries',
  requires: { trials: Trials },
  setup({ trials, routes }) {
    routes((app) => {
      app.get('/pid', { config }, async () => ({ pid: process.pid }))
      app.get('/try', { config }, async () => (await trials.start({ data: ${JSON.stringify(other)} })).fetch('/pid').then((a) => a.json()))
    })
  },
})`
  writeFileSync(join(folder.path, 'tries', 'index.js'), source)
  const node = await startedNode(t, {
    cwd: folder.path,
    args: ['--port', '0'],
    env: { TMPDIR: temporary },
  })
  const { pid } = (await (await fetch(new URL('/try', node.url))).json()) as { pid: number }
  t.equal(readdirSync(temporary).length, 1)
  t.doesNotThrow(() => process.kill(pid, 0))
  await node.end('SIGKILL')
  await until(() => readdirSync(temporary).length === 0)
  await until(() => {
    try {
      return !process.kill(pid, 0)
    } catch {
      return true
    }
  })
})
