import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { issueApiToken } from '../../src/sessions/issue-session.ts'
import { owner, startLoginNode, wallet } from '../fixtures/login-node.ts'
import { commandFolder, isRefusal } from './fixtures/nodekeep.ts'

const ada = wallet(1)

const notes = definePlugin({
  id: 'notes',
  setup({ routes }) {
    routes((app) => {
      app.get('/notes', { config: { scope: 'notes:read' } }, async () => ({ ok: true }))
      app.post('/notes', { config: { scope: 'notes:write' } }, async () => ({ ok: true }))
    })
  },
})

test('the command creates, lists and revokes a token while the node runs', async (t) => {
  const folder = await commandFolder(t)
  const { as, openSession } = await startLoginNode(t, { dataFolder: folder.data, plugins: [notes] })
  await openSession(owner)
  t.match(await folder.run('token', 'list'), { code: 0, stdout: 'There are no API tokens.\n' })
  const made = await folder.run(
    'token',
    'create',
    '--name',
    'backup',
    '--scope',
    ...['notes:read', 'notes:write', 'notes:write'],
  )
  t.equal(made.code, 0)
  const token = made.stdout.trim()
  t.match(token, /^nkt_[\w-]{43}$/)
  const id = /id ([0-9a-f-]{36})\. It is not shown again/.exec(made.stderr)?.[1] ?? ''
  t.equal((await as(token, '/notes')).status, 200)
  t.equal((await as(token, '/api/account/sessions')).status, 403)

  const { stdout } = await folder.run('token', 'list')
  const time = '\\d{4}-[-:.T\\d]+Z'
  t.match(
    stdout,
    new RegExp(
      `^ID +NAME +SCOPES +LAST USED +EXPIRES\n${id}  backup  notes:read,notes:write  ${time}  ${time}\n$`,
    ),
  )
  t.match(JSON.parse((await folder.run('token', 'list', '--json')).stdout), [
    { id, name: 'backup', scopes: ['notes:read', 'notes:write'] },
  ])
  t.notMatch(stdout, /nkt_/)
  t.match(await folder.run('token', 'revoke', id), { code: 0, stdout: /within 5 seconds/ })
  t.match(await folder.run('token', 'list'), { stdout: 'There are no API tokens.\n' })
  const again = await folder.run('token', 'revoke', id)
  t.ok(isRefusal(again))
  t.match(again.stderr, `has no API token with the id "${id}". "nodekeep token list --user`)
})

test('a scope that no route asks for is refused, and the scopes of the node are listed', async (t) => {
  const folder = await commandFolder(t)
  const { node, openSession, stop } = await startLoginNode(t, { dataFolder: folder.data, plugins: [notes] })
  const { user } = await openSession(owner)
  const refused = await folder.run('token', 'create', '-n', 'x', '-s', 'notes:read', 'notes:raed')
  t.ok(isRefusal(refused))
  t.match(refused.stderr, 'Unknown scope "notes:raed". Known scopes: notes:read, notes:write.')
  t.same(
    (await node.sessions.listByUser(user.uuid)).map(({ kind }) => kind),
    ['session'],
  )
  await stop()
  t.match(await folder.run('token', 'scopes'), { code: 0, stdout: 'SCOPE\nnotes:read\nnotes:write\n' })
  const json = await folder.run('token', 'scopes', '--json')
  t.same(JSON.parse(json.stdout), ['notes:read', 'notes:write'], 'also while the node is stopped')
})

test('control characters in a stored name do not reach the terminal', async (t) => {
  const folder = await commandFolder(t)
  const { node, openSession } = await startLoginNode(t, { dataFolder: folder.data })
  const { user } = await openSession(owner)
  const label = 'b\u001b]0;owned\u0007\r\nforged\u009b2J\u202e é'
  await issueApiToken(node.sessions, { userUuid: user.uuid, name: label, scopes: ['ai'], expiryDays: 1 })
  const { stdout } = await folder.run('token', 'list')
  t.match(stdout, 'b\\u001b]0;owned\\u0007\\u000d\\u000aforged\\u009b2J\\u202e é')
  t.match(stdout, /^[^\p{Cc}\p{Bidi_Control}]+\n[^\p{Cc}\p{Bidi_Control}]+\n$/u)
})

test('token create makes a token for another user, with another expiry or none', async (t) => {
  const folder = await commandFolder(t, { auth: { admission: 'open' } })
  const { node, openSession } = await startLoginNode(t, { dataFolder: folder.data, plugins: [notes] })
  const { user } = await openSession(ada)
  const create = (...args: string[]) =>
    folder.run('token', 'create', '-n', 'x', '-s', 'notes:read', '--user', ada, ...args)
  const outcomes = await Promise.all([create('--days', '7'), create('--days', 'never')])
  t.same(
    outcomes.map(({ code }) => code),
    [0, 0],
  )
  const tokens = (await node.sessions.listByUser(user.uuid)).filter(({ kind }) => kind === 'api-token')
  const days = tokens.map(({ expiresAt, createdAt }) =>
    expiresAt === null ? 'never' : (expiresAt.getTime() - createdAt.getTime()) / 86_400_000,
  )
  t.same(days.toSorted(), [7, 'never'])
  const { stdout } = await folder.run('token', 'list', '--user', user.username)
  t.match(stdout, / {2}never\n/)

  const json = await create('--days', 'never', '--json')
  t.match(json, { code: 0, stderr: '' })
  t.match(JSON.parse(json.stdout), {
    token: /^nkt_/,
    username: user.username,
    details: { name: 'x', scopes: ['notes:read'], expires: null },
  })
})

test('an impossible change gets one line', async (t) => {
  const folder = await commandFolder(t)
  const { node, openSession } = await startLoginNode(t, { dataFolder: folder.data, plugins: [notes] })
  const unclaimed = await folder.run('token', 'create', '-n', 'x', '-s', 'notes:read')
  t.ok(isRefusal(unclaimed))
  t.match(unclaimed.stderr, /The node has no owner yet/)
  const { user } = await openSession(ada)
  for (const [args, reason] of [
    [['create', '-n', 'x', '-s', 'notes:read', '--user', ada], /"auth\.admission" .* does not admit it/],
    [['create', '-n', '', '-s', 'notes:read'], /A name has 1 to 100 characters/],
    [['create', '-n', 'x\u001b[2J', '-s', 'notes:read'], /Control characters .* are not allowed/],
    [['create', '-n', 'x'], /required option '-s, --scope/],
  ] as const) {
    const { code, stdout, stderr } = await folder.run('token', ...args)
    t.match({ code, stdout, stderr }, { code: 1, stdout: '', stderr: reason })
  }
  t.equal((await node.sessions.listByUser(user.uuid)).length, 1)
})
