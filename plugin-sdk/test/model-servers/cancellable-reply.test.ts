import { getEventListeners } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ChatDelta } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { cancellableReply } from '../../src/model-servers/cancellable-reply.ts'

const text: ChatDelta = { type: 'text', text: 'Hello' }

/** Returns a call that yields one piece and then waits for the abort. */
function stalling(seen: AbortSignal[]) {
  return async function* read(signal: AbortSignal): AsyncGenerator<ChatDelta> {
    seen.push(signal)
    yield text
    const { promise, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason))
    await promise
  }
}

test('Leaving a reply ends its call at once, even during the wait for a piece', async (t) => {
  const seen: AbortSignal[] = []
  const deltas = cancellableReply(new AbortController().signal, stalling(seen))[Symbol.asyncIterator]()
  t.strictSame(await deltas.next(), { done: false, value: text })
  const awaited = deltas.next()
  t.notOk(seen[0]?.aborted)
  const left = deltas.return?.()
  t.ok(seen[0]?.aborted)
  t.match(await awaited, { done: true }, 'The abort is no error for the reader that caused it.')
  t.match(await left, { done: true })
})

test('Leaving the loop between two pieces ends the call', async (t) => {
  const seen: AbortSignal[] = []
  for await (const delta of cancellableReply(new AbortController().signal, stalling(seen))) {
    t.equal(delta, text)
    break
  }
  t.ok(seen[0]?.aborted)
})

test('The signal of the chat ends the call with its reason', async (t) => {
  const seen: AbortSignal[] = []
  const chat = new AbortController()
  const deltas = cancellableReply(chat.signal, stalling(seen))[Symbol.asyncIterator]()
  await deltas.next()
  const awaited = deltas.next()
  const reason = new Error('The client left.')
  chat.abort(reason)
  t.equal(seen[0]?.reason, reason)
  await t.rejects(awaited, reason)
})

test('Each loop makes a call of its own', async (t) => {
  const seen: AbortSignal[] = []
  const reply = cancellableReply(new AbortController().signal, stalling(seen))
  for await (const _delta of reply) break
  for await (const _delta of reply) break
  t.equal(seen.length, 2)
})

test('A signal of many chats keeps no listener of an ended chat', async (t) => {
  const { signal } = new AbortController()
  async function* whole(): AsyncGenerator<ChatDelta> {
    yield text
  }
  async function* failing(): AsyncGenerator<ChatDelta> {
    yield text
    throw new Error('The model gave up.')
  }
  for await (const _delta of cancellableReply(signal, whole));
  for await (const _delta of cancellableReply(signal, stalling([]))) break
  await t.rejects(async () => {
    for await (const _delta of cancellableReply(signal, failing));
  })
  t.equal(getEventListeners(signal, 'abort').length, 0)
})

test('A loop over the body of a fetch can be left at any time', async (t) => {
  const http = createServer((_request, response) => response.writeHead(200).write('Hello'))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    http.close()
    http.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  async function* plain(signal: AbortSignal): AsyncGenerator<ChatDelta> {
    const { body } = await fetch(url, { signal })
    for await (const bytes of body ?? []) yield { type: 'text', text: Buffer.from(bytes).toString() }
  }
  async function* nested(signal: AbortSignal): AsyncGenerator<ChatDelta> {
    yield* plain(signal)
  }
  async function* decoded(signal: AbortSignal): AsyncGenerator<ChatDelta> {
    const { body } = await fetch(url, { signal })
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) yield { type: 'text', text }
  }
  for (const read of [plain, nested, decoded]) {
    for await (const delta of cancellableReply(new AbortController().signal, read)) {
      t.strictSame(delta, text, read.name)
      break
    }
    const waiting = cancellableReply(new AbortController().signal, read)[Symbol.asyncIterator]()
    await waiting.next()
    const next = waiting.next()
    await waiting.return?.()
    t.match(await next, { done: true }, read.name)
  }
})

test('A failure of the call after its reader left is hidden from the reader', async (t) => {
  async function* untidy(signal: AbortSignal): AsyncGenerator<ChatDelta> {
    try {
      yield text
    } finally {
      signal.throwIfAborted()
    }
  }
  for await (const _delta of cancellableReply(new AbortController().signal, untidy)) break
  t.pass('The loop ended without an error.')
})
