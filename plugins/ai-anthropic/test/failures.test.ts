import { modelServer } from '@nodekeep/plugin-sdk/model-servers'
import { test } from 'tap'
import { providerError } from '../src/failure.ts'
import { errorBody, errorEvent, event, messageStart, textBlock } from './anthropic-events.ts'
import { key, startAnthropicServer } from './anthropic-server.ts'
import { createChatNode } from './chat-node.ts'
import { chat, chatError } from './chatting.ts'

test('The provider does not follow a redirect, so the key goes to no other server', async (t) => {
  const other = await startAnthropicServer()
  t.teardown(() => other.stop())
  const { provider, server } = await createChatNode(t)
  server.answer = (response) => {
    response.writeHead(307, { location: `${other.url}/v1/messages` }).end()
  }
  t.match(await chatError(provider), {
    code: 'UPSTREAM_ERROR',
    permanent: true,
    message: /has moved\. The owner of the node must correct ai-anthropic\.baseURL\.$/,
  })
  await t.rejects(provider.models(new AbortController().signal), { code: 'UPSTREAM_ERROR' })
  t.same(other.headers(), {}, 'The other server got no request.')
})

test('The error of an address without the API differs from that of an unknown model', async (t) => {
  const { provider, server } = await createChatNode(t)
  const noApi = {
    code: 'UPSTREAM_ERROR',
    permanent: true,
    message:
      'The AI provider "anthropic" has no API at its address. The owner of the node must check ai-anthropic.baseURL.',
  }
  for (const [body, expected] of [
    ['<html><h1>404 Not Found</h1><p>Look at our model trains.</p></html>', noApi],
    ['404 page not found', noApi],
    ['', noApi],
    [JSON.stringify(errorBody(404, 'Not Found')), noApi],
    [JSON.stringify(errorBody(404, 'model: claude-9')), { code: 'NOT_FOUND', permanent: true }],
    ['{"detail":"claude-opus-5-5 is unknown"}', { code: 'NOT_FOUND', permanent: true }],
  ] as const) {
    server.answer = (response) => {
      response.writeHead(404, { 'content-type': 'application/json' }).end(body)
    }
    t.match(await chatError(provider), expected, body)
    await t.rejects(provider.models(new AbortController().signal), noApi, body)
  }
})

test('A page in place of an answer tells that there is no API', async (t) => {
  const { provider, server } = await createChatNode(t)
  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in to see your models</h1>')
  }
  t.match(await chatError(provider), { permanent: true, message: /has no API at its address/ })
})

test('The type of an error within a reply sets its code', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const [type, code, permanent] of [
    ['overloaded_error', 'UPSTREAM_ERROR', false],
    ['api_error', 'UPSTREAM_ERROR', false],
    ['a_new_error', 'UPSTREAM_ERROR', false],
    ['rate_limit_error', 'TOO_MANY_REQUESTS', false],
    ['timeout_error', 'UPSTREAM_TIMEOUT', false],
    ['invalid_request_error', 'VALIDATION_ERROR', true],
    ['authentication_error', 'UPSTREAM_ERROR', true],
  ] as const) {
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end([messageStart(3), ...textBlock(['Li']), errorEvent(type, 'So it is')].join(''))
    }
    t.match(await chatError(provider), { code, permanent }, type)
  }
})

test('The log does not get text that does not parse', async (t) => {
  const { provider, server } = await createChatNode(t)
  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('event: content_block_delta\ndata: Buy milk.\n\n')
  }
  t.match(await chatError(provider), {
    code: 'UPSTREAM_ERROR',
    cause: { message: 'An event of the answer is not valid JSON.' },
  })
})

test('An overloaded server is a temporary failure', async (t) => {
  const { provider, server } = await createChatNode(t)
  server.play({ kind: 'status', status: 529, retryAfter: '3' })
  t.match(await chatError(provider), {
    code: 'UPSTREAM_ERROR',
    permanent: false,
    headers: { 'retry-after': '3' },
  })
})

test('A limit of spending is not treated as a rate limit', async (t) => {
  const { provider, server } = await createChatNode(t)
  server.answer = (response) => {
    response.writeHead(429, { 'content-type': 'application/json' })
    const details = { error_code: 'enforced_spend_limit_reached' }
    response.end(
      JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'No', details } }),
    )
  }
  t.match(await chatError(provider), {
    code: 'UPSTREAM_ERROR',
    permanent: true,
    message:
      'The AI provider "anthropic" has reached its spending limit. The owner of the node must raise it.',
  })
})

test('The message of the API about a request is passed on', async (t) => {
  const { provider } = await createChatNode(t)
  const { message } = await chatError(provider, { messages: [{ role: 'user', content: [] }] })
  t.match(message, /It says: messages: all messages must have content$/)
})

test('The message and the type of an error may be malformed', async (t) => {
  const { provider, server } = await createChatNode(t)
  const said = { message: [[{ a: 1 }]], type: 'Buy milk.', details: { error_code: 7 } }
  server.answer = (response) => {
    response.writeHead(400, { 'content-type': 'application/json', 'request-id': 'Buy milk.' })
    response.end(JSON.stringify({ type: 'error', error: said }))
  }
  t.match(await chatError(provider), {
    code: 'VALIDATION_ERROR',
    permanent: true,
    message: /It gives no reason\.$/,
    cause: { message: 'status 400, no type, request unknown' },
  })
})

test('Answers in another form than the API are upstream errors', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const [status, type, body] of [
    [200, 'text/plain', '<h1>It works!</h1>'],
    [200, 'text/event-stream', ''],
    [200, 'text/event-stream', 'event: message_start\ndata: null\n\n'],
    [200, 'text/event-stream', event('content_block_delta', {})],
    [502, 'text/html', '<h1>Bad Gateway</h1>'],
    [500, 'application/json', 'null'],
  ] as const) {
    server.answer = (response) => {
      response.writeHead(status, { 'content-type': type }).end(body)
    }
    t.match(await chatError(provider), { code: 'UPSTREAM_ERROR', permanent: false }, body)
  }
})

test('The key is in no message and no line of the log', async (t) => {
  const { provider, server, log } = await createChatNode(t)
  const said = [] as unknown[]
  for (const status of [400, 401, 403, 404, 429, 500]) {
    server.answer = (response, { headers }) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(errorBody(status, `wrong: ${headers.authorization}`)))
    }
    const error = await chatError(provider)
    said.push(error.message, String(error.cause), JSON.stringify(error.headers))
    await provider.models(new AbortController().signal).catch((thrown) => said.push(thrown.message))
  }
  server.answer = null
  await chat(provider)
  t.equal(server.headers().authorization, `Bearer ${key}`)
  t.notOk([...said, ...log].join('\n').includes(key))
})

test('A connection that times out within a reply is a timeout', async (t) => {
  const server = modelServer({
    name: 'anthropic',
    url: 'http://127.0.0.1:1',
    setting: 'ai-anthropic.baseURL',
  })
  for (const [code, becomes] of [
    ['UND_ERR_BODY_TIMEOUT', 'UPSTREAM_TIMEOUT'],
    ['UND_ERR_SOCKET', 'UPSTREAM_ERROR'],
  ] as const) {
    const thrown = new TypeError('terminated', { cause: Object.assign(new Error('…'), { code }) })
    t.match(providerError(server, 'anthropic', thrown), { code: becomes, permanent: false, cause: thrown })
  }
})
