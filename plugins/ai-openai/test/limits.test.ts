import type { ServerResponse } from 'node:http'
import { type Test, test } from 'tap'
import { chat, subject } from './fixtures/chatting.ts'
import { begin, drained } from './openai-server.ts'
import { delta, done } from './openai-wire.ts'

const mebibyte = 1024 * 1024

/** Writes the same bytes until nobody takes them any more. Answers with how many there were. */
async function pour(response: ServerResponse, bytes: string): Promise<number> {
  let poured = 0
  while (!response.destroyed) {
    poured += bytes.length
    if (!response.write(bytes)) await drained(response)
  }
  return poured
}

function isLittle(t: Test, poured: number | undefined, limit: number): void {
  // What the system's buffers between the two hold comes on top.
  t.ok(poured !== undefined && poured < limit + 16 * mebibyte, `${poured} bytes were taken`)
}

test('an event without end is not gathered', async (t) => {
  const { server, provider } = await subject(t)
  for (const [name, start, endless] of [
    ['a line', 'data: "', 'x'.repeat(65_536)],
    ['many lines', '', `data: ${'x'.repeat(1000)}\n`.repeat(64)],
    ['a comment', ': ', '.'.repeat(65_536)],
    // The SDK keeps them until there is an event with data.
    ['many comments', '', ': ping\n\n'.repeat(8192)],
    ['many events without data', '', 'id: 7\n\n'.repeat(8192)],
  ] as const) {
    let poured: Promise<number> | undefined
    server.answer = (response) => {
      begin(response).write(delta({ content: 'Hi' }) + start)
      poured = pour(response, endless)
    }
    await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', cause: { message: /longer than/ } }, name)
    isLittle(t, await poured, 2 * mebibyte)
  }
})

test('a list of models without end is not gathered', async (t) => {
  const { server, provider } = await subject(t)
  let poured: Promise<number> | undefined
  server.answerModels = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":[')
    poured = pour(response, '{"id":"x"},'.repeat(5000))
  }
  await t.rejects(provider.models(AbortSignal.timeout(10_000)), { code: 'UPSTREAM_ERROR' })
  isLittle(t, await poured, 8 * mebibyte)
})

test('an error without end is not gathered, and keeps its meaning', async (t) => {
  const { server, provider } = await subject(t)
  let poured: Promise<number> | undefined
  server.answer = (response) => {
    response.writeHead(429, { 'retry-after': '3' })
    poured = pour(response, 'no '.repeat(20_000))
  }
  await t.rejects(chat(provider), { code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '3' } })
  isLittle(t, await poured, mebibyte)
})

test('an error that never ends is told in time, with what came of it', async (t) => {
  const { server, provider } = await subject(t)
  const gone = Promise.withResolvers<void>()
  server.answer = (response) => {
    response.once('close', gone.resolve)
    response.writeHead(400, { 'content-type': 'application/json' }).write('{"error":{"message":"Too long."}}')
  }
  await t.rejects(chat(provider), { code: 'VALIDATION_ERROR', message: /It says: Too long\.$/ })
  await gone.promise
})

test('a large event in many small pieces is read in time', async (t) => {
  const { server, provider } = await subject(t)
  const text = 'é'.repeat(mebibyte / 2)
  server.answer = async (response) => {
    begin(response)
    const bytes = Buffer.from(delta({ content: text }) + delta({}, 'stop') + done)
    for (let start = 0; start < bytes.length; start += 101) {
      if (!response.write(bytes.subarray(start, start + 101))) await drained(response)
    }
    response.end()
  }
  const [first] = await chat(provider)
  t.ok(first?.type === 'text' && first.text === text, 'the text is whole')
})
