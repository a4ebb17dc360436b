import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { test } from 'tap'
import { chat, subject, textOf } from './fixtures/chatting.ts'
import { begin } from './openai-server.ts'
import { delta, done } from './openai-wire.ts'

const reply = delta({ content: 'Hello' }) + delta({}, 'stop') + done

test('One connection serves one chat after the other, even if an answer ends late', async (t) => {
  const { server, provider } = await subject(t)
  const used = new Set<Socket>()
  server.answer = async (response, { socket }) => {
    used.add(socket)
    begin(response).write(reply)
    for (let turn = 0; turn < 10; turn += 1) await setImmediate()
    const idle = once(response, 'finish')
    response.end()
    await idle
  }
  for (let number = 0; number < 3; number += 1) {
    t.equal(textOf(await chat(provider)), 'Hello')
    // The next chat takes another connection while this answer has not ended.
    while (server.openChats() > 0) await setImmediate()
    for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  }
  t.equal(used.size, 1)
})

test('The failure of a reused connection is retryable, over another connection', async (t) => {
  const { server, provider } = await subject(t)
  const used = new Set<Socket>()
  server.answer = (response, { socket }) => {
    if (used.has(socket)) socket.resetAndDestroy()
    else begin(response).end(reply)
    used.add(socket)
  }
  t.equal(textOf(await chat(provider)), 'Hello')
  while (server.openChats() > 0) await setImmediate()
  for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', permanent: false })
  t.equal(textOf(await chat(provider)), 'Hello')
})

test('The provider closes an answer that goes on after its end', async (t) => {
  const { server, provider } = await subject(t)
  const gone = Promise.withResolvers<void>()
  server.answer = (response) => {
    begin(response).write(reply)
    const more = setInterval(() => response.write(delta({ content: 'and another thing' })), 5)
    response.once('close', () => {
      clearInterval(more)
      gone.resolve()
    })
  }
  t.equal(textOf(await chat(provider)), 'Hello')
  await gone.promise
})

test('Each of many concurrent chats has its own connection', async (t) => {
  const { server, provider } = await subject(t)
  const used = new Set<Socket>()
  const all = Promise.withResolvers<void>()
  server.answer = async (response, { socket }) => {
    used.add(socket)
    if (used.size === 40) all.resolve()
    await all.promise
    begin(response).end(reply)
  }
  const texts = await Promise.all(Array.from({ length: 40 }, async () => textOf(await chat(provider))))
  t.strictSame(texts, Array(40).fill('Hello'))
})

test('The provider never sends plain text to an https address', async (t) => {
  const { server } = await subject(t)
  const { provider } = await subject(t, { endpoint: server.url.replace('http:', 'https:') })
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', permanent: false })
  t.strictSame(server.requests, [])
})
