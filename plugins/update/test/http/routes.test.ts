import { execFileSync } from 'node:child_process'
import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import { definePlugin, NodeInfo, NodekeepError } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import manifest from '../../package.json' with { type: 'json' }
import { updateRoutes } from '../../src/http/routes.ts'
import update from '../../src/index.ts'
import { FakeSource, sourcePlugin } from '../fixtures/fake-source.ts'
import { updatesSubject } from '../fixtures/updates-subject.ts'

async function startNode(t: Test, source: FakeSource | null, dataFolder?: string) {
  const node = await createTestNode({
    plugins: source === null ? [update] : [update, sourcePlugin(source)],
    ...(dataFolder !== undefined && { dataFolder }),
  })
  t.teardown(() => node.stop())
  return node
}

async function ask(user: TestUser, method: 'GET' | 'POST', path: string): Promise<unknown> {
  return (await user.fetch(`/api/update/${path}`, { method })).json()
}

const { version } = manifest

test('before a check, the newest version is the current one', async (t) => {
  for (const source of [null, new FakeSource()]) {
    const node = await startNode(t, source)
    const ada = await node.signIn()
    const [commit, buildDate] = execFileSync('git', ['log', '-1', '--format=%H %cI'], {
      encoding: 'utf8',
    })
      .trim()
      .split(' ')
    t.same(await ask(ada, 'GET', 'version'), {
      version,
      commit,
      buildDate: new Date(buildDate ?? '').toISOString(),
    })
    t.same(await ask(ada, 'GET', 'status'), {
      currentVersion: version,
      latestVersion: version,
      updateAvailable: false,
      releaseNotes: '',
    })
    t.same(await ask(ada, 'GET', 'progress'), {
      isUpdating: false,
      progress: 'No update runs.',
      step: null,
      percent: null,
    })
    t.same(await ask(ada, 'GET', 'history'), { attempts: [] })
    const owner = await node.signIn('owner')
    t.same(await ask(owner, 'POST', 'check'), { updateAvailable: false, latestVersion: version })
  }
})

test('a check finds a version, which every user sees, also after a restart', async (t) => {
  const dataFolder = t.testdir({})
  const source = new FakeSource()
  source.newest = { version: '9.0.0', notes: '# Nine' }
  const node = await startNode(t, source, dataFolder)
  const owner = await node.signIn('owner')
  t.same(await ask(owner, 'POST', 'check'), { updateAvailable: true, latestVersion: '9.0.0' })
  const status = {
    currentVersion: version,
    latestVersion: '9.0.0',
    updateAvailable: true,
    releaseNotes: '# Nine',
  }
  t.same(await ask(owner, 'GET', 'status'), status)
  t.match(await ask(owner, 'GET', 'details'), {
    checkedAt: /^20/,
    checkProblem: null,
    wayBack: null,
    probationUntil: null,
  })
  await node.stop()
  const again = await startNode(t, source, dataFolder)
  t.same(await ask(await again.signIn(), 'GET', 'status'), status)
})

test('from sources, install says what to do instead', async (t) => {
  const source = new FakeSource()
  source.newest = { version: '9.0.0', notes: '' }
  const node = await startNode(t, source)
  const owner = await node.signIn('owner')
  const answer = await owner.fetch('/api/update/install', { method: 'POST' })
  t.equal(answer.status, 409)
  t.match(await answer.json(), { error: true, code: 'CONFLICT', message: /git pull/ })
  t.match(await ask(owner, 'POST', 'back'), { code: 'CONFLICT', message: /no way back/ })
  t.match(await ask(owner, 'GET', 'details'), { installProblem: /git pull/ })
})

test('a source that fails is told, and changes nothing', async (t) => {
  const source = new FakeSource()
  const node = await startNode(t, source)
  const owner = await node.signIn('owner')
  source.before = () => {
    throw new NodekeepError('UPSTREAM_ERROR', 'The source cannot be reached.')
  }
  const answer = await owner.fetch('/api/update/check', { method: 'POST' })
  t.equal(answer.status, 502)
  t.match(await answer.json(), {
    error: true,
    code: 'UPSTREAM_ERROR',
    message: 'The source cannot be reached.',
  })
  t.match(await ask(owner, 'GET', 'status'), { updateAvailable: false, latestVersion: version })
  t.match(await ask(owner, 'GET', 'details'), { checkProblem: 'The source cannot be reached.' })
  t.match(await (await node.fetch('/health')).json(), { status: 'ok' }, 'one failure is no illness')
})

test('users read, only the owner changes', async (t) => {
  const node = await startNode(t, new FakeSource())
  const ada = await node.signIn()
  for (const path of ['version', 'status', 'progress', 'history', 'details']) {
    t.equal((await ada.fetch(`/api/update/${path}`)).status, 200, path)
    t.equal((await node.fetch(`/api/update/${path}`)).status, 401, path)
  }
  for (const path of ['check', 'install', 'back']) {
    t.equal((await ada.fetch(`/api/update/${path}`, { method: 'POST' })).status, 403, path)
    t.equal((await node.fetch(`/api/update/${path}`, { method: 'POST' })).status, 401, path)
    t.equal((await ada.fetch(`/api/update/${path}`)).status, 405, path)
  }
})

test('programs call with the scope "update", and have the rights of their user', async (t) => {
  const node = await startNode(t, new FakeSource())
  for (const [role, checked] of [
    ['owner', 200],
    ['user', 403],
  ] as const) {
    const user = await node.signIn(role)
    const made = await user.fetch('/api/account/tokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'watcher', scopes: ['update'] }),
    })
    const { token } = (await made.json()) as { token: string }
    const headers = { authorization: `Bearer ${token}` }
    t.equal((await node.fetch('/api/update/status', { headers })).status, 200, role)
    t.equal((await node.fetch('/api/update/check', { method: 'POST', headers })).status, checked, role)
  }
})

test('only the owner sees what the former version would refuse, makes it look, and sees copies of databases', async (t) => {
  const { updates, releases, file } = await updatesSubject(t)
  releases.way = { version: '0.9.0', until: new Date() }
  let looks = 0
  releases.rollbackProblems = async () => {
    looks += 1
    return ['update.color is unknown.']
  }
  const testPlugin = definePlugin({
    id: 'test-updates',
    requires: { info: NodeInfo },
    setup: ({ info, routes }) =>
      routes(
        (app) =>
          updateRoutes(app, {
            info,
            updates,
            releases,
            file,
            automatic: false,
            probation: { until: null },
          }),
        { prefix: '/api/update' },
      ),
  })
  const node = await createTestNode({ plugins: [testPlugin] })
  t.teardown(() => node.stop())
  const until = new Date()
  const copies = { before: '1.0.0', folder: '/releases/before-1.0.0', bytes: 4096, until }
  releases.copies = [copies]
  const forUsers = { wayBack: { version: '0.9.0', problems: [] }, copies: [] }
  t.match(await ask(await node.signIn(), 'GET', 'details'), forUsers)
  t.equal(looks, 0)
  const owner = await node.signIn('owner')
  const problems = ['update.color is unknown.']
  const details = { wayBack: { problems }, copies: [{ ...copies, until: until.toISOString() }] }
  t.match(await ask(owner, 'GET', 'details'), details)
  t.equal(looks, 1)
  const message = 'The former release cannot check the configuration now.'
  releases.rollbackProblems = () => Promise.reject(new NodekeepError('SERVICE_UNAVAILABLE', message))
  t.match(await ask(owner, 'GET', 'details'), { wayBack: { problems: [message] } })
})

test('the former name of the key drainSeconds is accepted', async (t) => {
  const node = await createTestNode({ plugins: [update], config: { update: { patience: 5 } } })
  await node.stop()
  const wrong = createTestNode({ plugins: [update], config: { update: { patience: -1 } } })
  await t.rejects(wrong, /update\.patience .* must be between 0 and 86400/)
})
