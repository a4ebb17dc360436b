import type { ServerResponse } from 'node:http'
import { type Test, test } from 'tap'
import { chat, subject } from './fixtures/chatting.ts'
import { begin, drained } from './openai-server.ts'
import { delta, done } from './openai-wire.ts'

const mebibyte = 1024 * 1024

/** Writes the same bytes until the client closes the connection. Returns the number of written bytes. */
async function writeUntilClosed(response: ServerResponse, bytes: string): Promise<number> {
  let written = 0
  while (!response.destroyed) {
    written += bytes.length
    if (!response.write(bytes)) await drained(response)
  }
  return written
}

function assertAtMost(t: Test, written: number | undefined, limit: number): void {
  // The system buffers further bytes of the connection.
  t.ok(written !== undefined && written < limit + 16 * mebibyte, `The client took ${written} bytes.`)
}

test('The provider does not buffer an endless event', async (t) => {
  const { server, provider } = await subject(t)
  for (const [name, start, endless] of [
    ['a line', 'data: "', 'x'.repeat(65_536)],
    ['many lines', '', `data: ${'x'.repeat(1000)}\n`.repeat(64)],
    ['a comment', ': ', '.'.repeat(65_536)],
    // Comments count until an event with data comes.
    ['many comments', '', ': ping\n\n'.repeat(8192)],
    ['many events without data', '', 'id: 7\n\n'.repeat(8192)],
  ] as const) {
    let written: Promise<number> | undefined
    server.answer = (response) => {
      begin(response).write(delta({ content: 'Hi' }) + start)
      written = writeUntilClosed(response, endless)
    }
    await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', cause: { message: /longer than/ } }, name)
    assertAtMost(t, await written, 2 * mebibyte)
  }
})

test('The provider does not buffer an endless list of models', async (t) => {
  const { server, provider } = await subject(t)
  let written: Promise<number> | undefined
  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":[')
    written = writeUntilClosed(response, '{"id":"x"},'.repeat(5000))
  }
  await t.rejects(provider.models(AbortSignal.timeout(10_000)), { code: 'UPSTREAM_ERROR' })
  assertAtMost(t, await written, 8 * mebibyte)
})

test('The provider does not buffer an endless error, and keeps its code', async (t) => {
  const { server, provider } = await subject(t)
  let written: Promise<number> | undefined
  server.answer = (response) => {
    response.writeHead(429, { 'retry-after': '3' })
    written = writeUntilClosed(response, 'no '.repeat(20_000))
  }
  await t.rejects(chat(provider), { code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '3' } })
  assertAtMost(t, await written, mebibyte)
})

test('An error answer that stalls is reported in time, with the received text', async (t) => {
  const { server, provider } = await subject(t)
  const gone = Promise.withResolvers<void>()
  server.answer = (response) => {
    response.once('close', gone.resolve)
    response.writeHead(400, { 'content-type': 'application/json' }).write('{"error":{"message":"Too long."}}')
  }
  await t.rejects(chat(provider), { code: 'VALIDATION_ERROR', message: /It says: Too long\.$/ })
  await gone.promise
})

test('A large event in many small pieces is read in time', async (t) => {
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
  t.ok(first?.type === 'text' && first.text === text, 'The text is whole.')
})
