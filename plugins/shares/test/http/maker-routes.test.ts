import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { definePlugin, PublicOrigins } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import t, { test } from 'tap'
import { call, createShareNode, link, put, send, shareOf } from '../fixtures/share-node.ts'

t.jobs = 3

const dayMs = 24 * 60 * 60 * 1000
const node = await createShareNode({ config: { shares: { maxDays: 60, linksPerUser: 4 } } })
t.teardown(() => node.stop())

test('a link is made, listed, changed and revoked', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/photos/a.txt', 'a')
  const made = await call<NodeAnswers['POST /api/shares']>(ada, 'POST', '/api/shares', {
    path: '/photos',
    kind: 'read',
  })
  t.match(made.url, /^http:\/\/127\.0\.0\.1:\d+\/s\/[\w-]{43}$/)
  t.equal(made.reach, 'machine')
  t.match(made.note ?? '', /on the machine of the node only/)
  const { path } = { path: new URL(made.url).pathname }
  t.match(made.share, {
    id: made.id,
    path: '/photos',
    name: 'photos',
    type: 'directory',
    kind: 'read',
    state: 'open',
    password: false,
    keepMetadata: false,
    maxBytes: null,
    used: { last: null, visits: 0 },
  })
  const days = (Date.parse(made.share.expires) - Date.now()) / dayMs
  t.ok(days > 29.9 && days <= 30, 'it works for 30 days')

  t.equal((await node.fetch(path)).status, 200)
  t.match(await shareOf(ada, made.id), { used: { visits: 1, last: String } })
  const { uses } = (await (
    await ada.fetch(`/api/shares/${made.id}/uses`)
  ).json()) as NodeAnswers['GET /api/shares/{id}/uses']
  t.match(uses, [{ kind: 'visit', network: '127.0.0.0/24', times: 1 }])

  const changed = await call<NodeAnswers['PATCH /api/shares/{id}']>(ada, 'PATCH', `/api/shares/${made.id}`, {
    newAddress: true,
    kind: 'both',
    maxFiles: 3,
  })
  t.match(changed.share, { kind: 'both', maxFiles: 3, maxBytes: 10 * 1024 ** 3 })
  t.equal((await node.fetch(path)).status, 404, 'the former address has ended')
  const renewed = new URL(changed.url ?? '').pathname
  t.equal((await node.fetch(renewed)).status, 200)

  t.equal((await ada.fetch(`/api/shares/${made.id}`, { method: 'DELETE' })).status, 200)
  t.equal((await node.fetch(renewed)).status, 404)
  t.equal(await shareOf(ada, made.id), undefined)
})

test('changes at the same time give no right back', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/both/a.txt', 'a')
  const { id, path } = await link(ada, '/both', { kind: 'both' })
  await Promise.all(
    [{ password: 'open sesame' }, { kind: 'drop' }, { keepMetadata: true }].map((wishes) =>
      call(ada, 'PATCH', `/api/shares/${id}`, wishes),
    ),
  )
  t.match(await shareOf(ada, id), { kind: 'drop', password: true, keepMetadata: true })

  const [changed, removed] = await Promise.all([
    send(ada, 'PATCH', `/api/shares/${id}`, { password: 'another' }),
    ada.fetch(`/api/shares/${id}`, { method: 'DELETE' }),
  ])
  t.ok([200, 404].includes(changed.status), 'it may come first')
  t.equal(removed.status, 200)
  t.equal((await node.fetch(path)).status, 404)
})

test('a link is found by its hash, and nothing else of its address or password is stored', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/a.txt', 'a')
  const { id, path } = await link(ada, '/a.txt', { password: 'open sesame' })
  const token = path.slice('/s/'.length)
  const database = new DatabaseSync(join(node.dataFolder, 'plugins/shares/shares.sqlite'), { readOnly: true })
  t.teardown(() => database.close())
  const row = database.prepare('SELECT * FROM shares WHERE id = ?').get(id) ?? {}
  const stored = Object.values(row).map((value) =>
    value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value)),
  )
  for (const secret of [token, Buffer.from(token, 'base64url'), 'sesame'])
    t.notOk(stored.some((value) => value.includes(secret)))
  t.ok(stored.some((value) => value.equals(createHash('sha256').update(token).digest())))
  for (const wrong of [
    `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
    token.slice(0, -1),
    `${token}A`,
  ])
    t.equal((await node.fetch(`/s/${wrong}`)).status, 404, 'a part of it opens nothing')
})

test('the address is that by which others reach the node', async (t) => {
  const config = { server: { publicUrl: 'https://home.example.org' } }
  const open = await createShareNode({ config })
  t.teardown(() => open.stop())
  const ada = await open.signIn()
  await put(ada, '/a.txt', 'a')
  const made = await call<NodeAnswers['POST /api/shares']>(ada, 'POST', '/api/shares', {
    path: '/a.txt',
    kind: 'read',
  })
  t.match(made, { url: /^https:\/\/home\.example\.org\/s\//, reach: 'everywhere', note: null })
})

test('the address of an overlay network comes first', async (t) => {
  const overlay = definePlugin({
    id: 'some-overlay',
    contributes: { origins: PublicOrigins },
    setup({ origins }) {
      origins.add('some-overlay', 'https://ada.gateway.example')
    },
  })
  const config = { server: { publicUrl: 'http://home.example.org' } }
  const behind = await createShareNode({ config, plugins: [overlay] })
  t.teardown(() => behind.stop())
  const { reach, note } = (await (
    await (await behind.signIn()).fetch('/api/shares')
  ).json()) as NodeAnswers['GET /api/shares']
  t.match({ reach, note }, { reach: 'everywhere', note: null })
  const ada = await behind.signIn()
  await put(ada, '/a.txt', 'a')
  const made = await call<NodeAnswers['POST /api/shares']>(ada, 'POST', '/api/shares', {
    path: '/a.txt',
    kind: 'read',
  })
  t.match(made.url, /^https:\/\/ada\.gateway\.example\/s\//)
})

test('only the maker changes a link, and the owner sees and ends all', async (t) => {
  const [owner, ada, bob] = [await node.signIn('owner'), await node.signIn(), await node.signIn()]
  await put(ada, '/a.txt', 'a')
  const { id, path } = await link(ada, '/a.txt')
  for (const other of [bob, owner])
    t.equal((await send(other, 'PATCH', `/api/shares/${id}`, { keepMetadata: true })).status, 404)
  t.equal((await bob.fetch(`/api/shares/${id}`, { method: 'DELETE' })).status, 404)
  t.equal((await bob.fetch(`/api/shares/${id}/uses`)).status, 404)
  t.equal((await bob.fetch('/api/shares/all')).status, 403)
  t.equal(await shareOf(bob, id), undefined)
  t.equal((await node.fetch('/api/shares')).status, 401)

  const { shares } = (await (
    await owner.fetch('/api/shares/all')
  ).json()) as NodeAnswers['GET /api/shares/all']
  t.match(
    shares.find((share) => share.id === id),
    { path: '/a.txt', user: { uuid: ada.user.uuid, username: ada.user.username } },
  )
  t.equal((await owner.fetch(`/api/shares/${id}`, { method: 'DELETE' })).status, 200)
  t.equal((await node.fetch(path)).status, 404)
})

test('a program needs the scope "shares"', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/a.txt', 'a')
  const tokenOf = async (scope: string) => {
    const made = await call<{ token: string }>(ada, 'POST', '/api/account/tokens', {
      name: scope,
      scopes: [scope],
    })
    return { authorization: `Bearer ${made.token}` }
  }
  t.equal((await node.fetch('/api/shares', { headers: await tokenOf('files:read') })).status, 403)
  t.equal((await node.fetch('/api/shares', { headers: await tokenOf('shares') })).status, 200)
})

test('wrong wishes are refused', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/folder/a.txt', 'a')
  const status = async (body: object) => (await send(ada, 'POST', '/api/shares', body)).status
  const later = (days: number) => new Date(Date.now() + days * dayMs).toISOString()
  t.equal(await status({ path: '/folder', kind: 'write' }), 400)
  t.equal(await status({ path: '/none', kind: 'read' }), 404)
  t.equal(await status({ path: '/../x', kind: 'read' }), 400)
  t.equal(await status({ path: '/', kind: 'read' }), 400)
  t.equal(await status({ path: '/folder/a.txt', kind: 'drop' }), 400, 'no upload into a file')
  t.equal(await status({ path: '/folder', kind: 'read', maxFiles: 1 }), 400)
  t.equal(await status({ path: '/folder', kind: 'read', expires: later(-1) }), 400)
  t.equal(await status({ path: '/folder', kind: 'read', expires: later(61) }), 400)
  t.equal(await status({ path: '/folder', kind: 'read', password: '' }), 400)
  t.equal(await status({ path: '/folder', kind: 'read', token: 'x' }), 400)
  for (let links = 0; links < 4; links += 1) await link(ada, '/folder', { expires: later(59) })
  t.equal(await status({ path: '/folder', kind: 'read' }), 409, 'linksPerUser')
})
