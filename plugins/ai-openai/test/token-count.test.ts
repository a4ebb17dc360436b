import { test } from 'tap'
import { chat, subject, textOf } from './fixtures/chatting.ts'
import { begin, sendJson } from './openai-server.ts'
import { delta, done } from './openai-wire.ts'

test('If a server refuses to count tokens, the request is repeated once without the count', async (t) => {
  const { server, provider } = await subject(t)
  server.answer = (response) => {
    const body = server.requests.at(-1)?.body as { stream_options?: object } | undefined
    if (body?.stream_options)
      sendJson(response, 400, { error: { message: "Unrecognized request argument: 'stream_options'" } })
    else begin(response).end(delta({ content: 'Hi' }) + delta({}, 'stop') + done)
  }
  t.equal(textOf(await chat(provider)), 'Hi')
  t.equal(server.chats(), 2)
  t.equal(textOf(await chat(provider)), 'Hi')
  t.equal(server.chats(), 3, 'Later requests do not ask for the count.')
})

test('A refusal that only quotes the chat does not end the count', async (t) => {
  const { server, provider } = await subject(t)
  server.answer = (response) =>
    sendJson(response, 400, { error: { message: 'stream_options is not a valid model ID' } })
  await t.rejects(chat(provider, { model: 'stream_options' }), { code: 'VALIDATION_ERROR' })
  server.answer = null
  await chat(provider)
  t.match(server.requests.at(-1)?.body, { stream_options: { include_usage: true } })
})
