import { test } from 'tap'
import { errorBody } from './anthropic-events.ts'
import { createChatNode } from './chat-node.ts'
import { chatError } from './chatting.ts'

test('The provider does not buffer an endless answer', async (t) => {
  const { provider, server } = await createChatNode(t)
  const answers = [
    [200, 'text/event-stream', 'event: message_start\ndata: ', 'x'],
    [200, 'text/event-stream', 'event: message_start\n', 'data: x\n'],
    // The SDK keeps comments until an event with data comes.
    [200, 'text/event-stream', '', ': ping\n\n'],
    [400, 'application/json', '{"error": "', 'x'],
  ] as const
  for (const [status, type, begin, endless] of answers) {
    let sent = 0
    const closed = new Promise<void>((resolve) => {
      server.answer = (response) => {
        response.writeHead(status, { 'content-type': type })
        response.write(begin)
        const piece = endless.repeat(65536 / endless.length)
        const go = () => {
          while (!response.destroyed) {
            sent += piece.length
            if (!response.write(piece)) return
          }
        }
        response.on('drain', go)
        response.once('close', resolve)
        go()
      }
    })
    await chatError(provider)
    await closed
    t.ok(sent < 16 * 1024 * 1024, `The client took ${sent} bytes.`)
  }
})

test('The provider does not read an endless list of models', async (t) => {
  const { provider, server } = await createChatNode(t)
  let pages = 0
  server.answer = (response) => {
    const data = Array.from({ length: 1000 }, (_, index) => ({ id: `model-${pages}-${index}` }))
    pages += 1
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ data, has_more: true, last_id: `page-${pages}` }))
  }
  t.equal((await provider.models(new AbortController().signal)).length, 10_000)
  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ data: [{ id: 'same' }], has_more: true, last_id: 'same' }))
  }
  t.same(await provider.models(new AbortController().signal), ['same'])
})

test('An error answer that stalls is reported in time, with the received text', async (t) => {
  const { provider, server } = await createChatNode(t)
  const closed = Promise.withResolvers<void>()
  server.answer = (response) => {
    response.once('close', closed.resolve)
    response.writeHead(400, { 'content-type': 'application/json' })
    response.write(JSON.stringify(errorBody(400, 'Too long.')))
  }
  t.match(await chatError(provider), { code: 'VALIDATION_ERROR', message: /It says: Too long\.$/ })
  await closed.promise
})
