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

test('The plugin greets strangers and users', async (t) => {
  const node = await startNode(t)
  const ada = await node.signIn()
  assert.deepEqual(await (await node.fetch('/api/hello')).json(), { text: 'Hello, stranger!' })
  assert.deepEqual(await (await ada.fetch('/api/hello')).json(), { text: `Hello, ${ada.user.username}!` })
})

test('The configuration sets the greeting', async (t) => {
  const node = await startNode(t, { config: { hello: { greeting: 'Welcome' } } })
  assert.deepEqual(await (await node.fetch('/api/hello')).json(), { text: 'Welcome, stranger!' })
})

test('A user sends a card, and every client with its link reads it', async (t) => {
  const node = await startNode(t)
  const ada = await node.signIn()
  const sent = await ada.fetch('/api/hello/cards', post(card))
  assert.equal(sent.status, 201)
  const { path } = (await sent.json()) as { path: string }
  assert.deepEqual(await (await node.fetch(path)).json(), { from: ada.user.username, ...card })
})

test('Only users send cards, and a card needs all fields', async (t) => {
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

test('A changed link finds no card', async (t) => {
  const node = await startNode(t)
  const ada = await node.signIn()
  const { path } = (await (await ada.fetch('/api/hello/cards', post(card))).json()) as { path: string }
  const [id = ''] = path.split('.')
  for (const other of [id, `${id}.`, `${id}.AAAA`, `${path}A`, '/api/hello/cards/none']) {
    assert.equal((await node.fetch(other)).status, 404, other)
  }
})

test('Cards survive a restart, and cards of the first version are migrated', async (t) => {
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
    assert.equal(answer.status, 200, `The ${start} start has no such card.`)
  }
})

test('Other plugins get the event of a card', async (t) => {
  const received = Promise.withResolvers<{ id: string; senderUuid: string }>()
  const listener = definePlugin({
    id: 'listener',
    setup({ events }) {
      events.on(CardSent, received.resolve)
    },
  })
  const node = await startNode(t, { plugins: [hello, listener] })
  const ada = await node.signIn()
  await ada.fetch('/api/hello/cards', post(card))
  assert.equal((await received.promise).senderUuid, ada.user.uuid)
})

test('The health report contains the check of the plugin', async (t) => {
  const node = await startNode(t)
  const owner = await node.signIn('owner')
  const { checks } = (await (await owner.fetch('/api/system/health')).json()) as {
    checks: Record<string, object>
  }
  assert.deepEqual(checks.hello, { ok: true, state: 'ready' })
})

test('Several instances run side by side, each with its own cards', async (t) => {
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

test('The error for a missing or short key names the setting', async () => {
  for (const [section, complaint] of [
    [{}, /linkKey/],
    [{ linkKey: 'short' }, /linkKey/],
    [{ linkkey: 'x'.repeat(32) }, /linkKey/],
  ] as const) {
    await assert.rejects(createTestNode({ plugins: [hello], config: { hello: section } }), complaint)
  }
})
