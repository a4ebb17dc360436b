import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTestNode, type TestNodeOptions } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import hello, { CardSent } from '../src/index.ts'

const linkKey = 'a key of at least 32 characters, for tests'
const environment = { NODEKEEP_HELLO__LINK_KEY: linkKey }

async function startNode(t: TestContext, options: TestNodeOptions = {}) {
  const node = await createTestNode({ plugins: [hello], environment, ...options })
  t.after(() => node.stop())
  return node
}

const card = { to: 'Grace', text: 'Happy birthday!' }

function post(body: unknown): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

test('it greets strangers and users', async (t) => {
  const node = await startNode(t)
  const ada = await node.signIn()
  assert.deepEqual(await (await node.fetch('/api/hello')).json(), { text: 'Hello, stranger!' })
  assert.deepEqual(await (await ada.fetch('/api/hello')).json(), { text: `Hello, ${ada.user.username}!` })
})

test('the greeting is configured', async (t) => {
  const node = await startNode(t, { config: { hello: { greeting: 'Welcome' } } })
  assert.deepEqual(await (await node.fetch('/api/hello')).json(), { text: 'Welcome, stranger!' })
})

test('a card is sent by a user and read by everybody who has its link', async (t) => {
  const node = await startNode(t)
  const ada = await node.signIn()
  const sent = await ada.fetch('/api/hello/cards', post(card))
  assert.equal(sent.status, 201)
  const { path } = (await sent.json()) as { path: string }
  assert.deepEqual(await (await node.fetch(path)).json(), { from: ada.user.username, ...card })
})

test('only users send cards, and only whole ones', async (t) => {
  const node = await startNode(t)
  const ada = await node.signIn()
  const refused = await node.fetch('/api/hello/cards', post(card))
  assert.equal(refused.status, 401)
  for (const bad of [{}, { to: 'Grace' }, { ...card, text: '' }, { ...card, from: 'Bob' }]) {
    const answer = await ada.fetch('/api/hello/cards', post(bad))
    assert.equal(answer.status, 400)
    assert.equal(((await answer.json()) as { code: string }).code, 'VALIDATION_ERROR')
  }
})

test('a link that was changed leads nowhere', async (t) => {
  const node = await startNode(t)
  const ada = await node.signIn()
  const { path } = (await (await ada.fetch('/api/hello/cards', post(card))).json()) as { path: string }
  const [id = ''] = path.split('.')
  for (const other of [id, `${id}.`, `${id}.AAAA`, `${path}A`, '/api/hello/cards/none']) {
    assert.equal((await node.fetch(other)).status, 404, other)
  }
})

test('cards survive a restart, and those of the first version are migrated', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'hello-'))
  t.after(() => rm(dataFolder, { recursive: true }))
  const firstVersion = definePlugin({
    id: 'hello',
    async setup({ state }) {
      await state.set('old', { from: 'ada', ...card })
    },
  })
  const old = await createTestNode({ plugins: [firstVersion], dataFolder })
  await old.stop()

  const { CardLinks } = await import('../src/card-links.ts')
  const path = `/api/hello/cards/${new CardLinks(linkKey).of('old')}`
  for (const start of ['first', 'second']) {
    const node = await createTestNode({ plugins: [hello], environment, dataFolder })
    const answer = await node.fetch(path)
    await node.stop()
    assert.equal(answer.status, 200, `at the ${start} start`)
  }
})

test('other plugins hear of cards', async (t) => {
  const heard = Promise.withResolvers<{ id: string; senderUuid: string }>()
  const listener = definePlugin({
    id: 'listener',
    setup({ events }) {
      events.on(CardSent, heard.resolve)
    },
  })
  const node = await startNode(t, { plugins: [hello, listener] })
  const ada = await node.signIn()
  await ada.fetch('/api/hello/cards', post(card))
  assert.equal((await heard.promise).senderUuid, ada.user.uuid)
})

test('its health is part of the report', async (t) => {
  const node = await startNode(t)
  const owner = await node.signIn('owner')
  const { checks } = (await (await owner.fetch('/api/system/health')).json()) as { checks: object }
  assert.deepEqual(checks, {
    database: { ok: true, state: 'connected' },
    hello: { ok: true, state: 'ready' },
  })
})

test('several of it stand side by side, each with cards of its own', async (t) => {
  const node = await startNode(t, {
    plugins: [hello, { ...hello, id: 'hallo' }],
    config: { hallo: { greeting: 'Hallo', linkKey: 'another key of at least 32 characters' } },
  })
  const ada = await node.signIn()
  assert.deepEqual(await (await node.fetch('/api/hallo')).json(), { text: 'Hallo, stranger!' })
  const sent = await ada.fetch('/api/hallo/cards', post(card))
  const { path } = (await sent.json()) as { path: string }
  assert.equal((await node.fetch(path)).status, 200)
  assert.equal((await node.fetch(path.replace('/hallo/', '/hello/'))).status, 404)
})

test('without a key, or with a short one, the node says what is wrong', async () => {
  for (const [section, complaint] of [
    [{}, /linkKey/],
    [{ linkKey: 'short' }, /linkKey/],
    [{ linkkey: 'x'.repeat(32) }, /linkKey/],
  ] as const) {
    await assert.rejects(createTestNode({ plugins: [hello], config: { hello: section } }), complaint)
  }
})
