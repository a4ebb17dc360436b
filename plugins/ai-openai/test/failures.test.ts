import { once } from 'node:events'
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import type { ModelHttpAnswer } from '@nodekeep/plugin-sdk/conformance/ai'
import { modelServer } from '@nodekeep/plugin-sdk/model-servers'
import { test } from 'tap'
import { providerError } from '../src/failures.ts'
import { chat, key, providerOf, subject } from './fixtures/chatting.ts'
import { begin, sendJson } from './openai-server.ts'
import { delta, event } from './openai-wire.ts'

const nowhere = modelServer({ name: 'openai', url: 'http://127.0.0.1:1', setting: 'ai-openai.baseURL', key })

test('The message of a server about a request is passed on in every form', async (t) => {
  const { server, provider } = await subject(t)
  for (const [status, body] of [
    [
      400,
      { error: { message: 'Too long.', type: 'invalid_request_error', code: 'context_length_exceeded' } },
    ],
    [400, { error: 'Too long.' }],
    [400, { object: 'error', message: 'Too long.', type: 'BadRequestError', code: 400 }],
    [422, { detail: 'Too long.' }],
    [413, 'Too long.'],
  ] as const) {
    server.answer = (response) =>
      typeof body === 'string' ? response.writeHead(status).end(body) : sendJson(response, status, body)
    await t.rejects(
      chat(provider),
      { code: 'VALIDATION_ERROR', permanent: true, message: /It says: Too long\.$/ },
      JSON.stringify(body),
    )
  }
  server.answer = (response) =>
    sendJson(response, 422, { detail: [{ loc: ['body', 'model'], msg: 'wrong' }] })
  await t.rejects(chat(provider), { code: 'VALIDATION_ERROR', message: /"msg":"wrong"/ })
})

test('The error of an address without the API differs from that of an unknown model', async (t) => {
  const { server, provider } = await subject(t)
  const noApi = {
    code: 'UPSTREAM_ERROR',
    permanent: true,
    message:
      'The AI provider "openai" has no API at its address. The owner of the node must check ai-openai.baseURL.',
  }
  for (const body of [
    '<html><h1>404 Not Found</h1><p>Look at our model trains.</p></html>',
    '404 page not found',
    '',
    '{"detail":"Not Found"}',
    '{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}',
    '{"error":{"message":"Invalid URL (POST /chat/completions)","type":"invalid_request_error","code":null}}',
  ]) {
    server.answer = (response) => response.writeHead(404).end(body)
    await t.rejects(chat(provider), noApi, body)
  }
  for (const body of [
    '{"error":{"message":"Nicht da.","type":"invalid_request_error","code":"model_not_found"}}',
    '{"error":{"message":"No endpoints found for some/one.","code":404}}',
    '{"error":{"code":"DeploymentNotFound","message":"The API deployment does not exist."}}',
    '{"object":"error","message":"The model `some/one` does not exist.","type":"NotFoundError","code":404}',
    '{"message":"some/one 不存在"}',
  ]) {
    server.answer = (response) => response.writeHead(404).end(body)
    await t.rejects(chat(provider, { model: 'some/one' }), { code: 'NOT_FOUND', permanent: true }, body)
  }
  // A login page, or the page of another server.
  server.answer = (response) =>
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
      .end('<h1>Log in to use the model</h1>')
  await t.rejects(chat(provider), noApi, 'a page')
  const { href } = new URL('/', server.url)
  const lost = providerOf(server, { endpoint: href.slice(0, -1) })
  await t.rejects(chat(lost), noApi, 'The version is missing.')
  await t.rejects(lost.models(AbortSignal.timeout(5000)), {
    code: 'UPSTREAM_ERROR',
    permanent: true,
    message:
      /has no list of models at its address\. .* check ai-openai\.baseURL, or can set ai-openai\.models\.$/,
  })
})

test('A key without credit is a permanent failure', async (t) => {
  const { server, provider } = await subject(t)
  const error = {
    message: 'You exceeded your current quota.',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  }
  server.answer = (response) => sendJson(response, 429, { error })
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', permanent: true })
})

test('An error within a reply keeps its code', async (t) => {
  const { server, provider } = await subject(t)
  for (const [error, expected] of [
    [{ message: 'x', code: 429 }, { code: 'TOO_MANY_REQUESTS' }],
    [
      { message: 'The prompt is too long.', code: 400 },
      { code: 'VALIDATION_ERROR', message: /prompt is too long/ },
    ],
    [{ message: 'Provider disconnected', code: 'server_error' }, { code: 'UPSTREAM_ERROR' }],
    [{ message: `key ${key}`, code: 502 }, { code: 'UPSTREAM_ERROR' }],
    ['Boom', { code: 'UPSTREAM_ERROR' }],
    [{}, { code: 'UPSTREAM_ERROR' }],
  ] as const) {
    server.answer = (response) => begin(response).end(delta({ content: 'Hi' }) + event({ error }))
    await t.rejects(chat(provider), expected, JSON.stringify(error))
  }
})

test('No thrown error contains the key, at any depth', async (t) => {
  const { server, provider } = await subject(t)
  for (const status of [400, 401, 403, 429, 500, 302]) {
    server.answer = (response) => {
      const echo = { 'x-echo': key, 'www-authenticate': `Bearer ${key}`, location: `/?${key}` }
      response
        .writeHead(status, echo)
        .end(JSON.stringify({ error: { message: `Bearer ${key}`, param: key } }))
    }
    const thrown = await chat(provider).catch((error: unknown) => error)
    t.match(thrown, { name: 'NodekeepError' }, String(status))
    t.notMatch(inspect(thrown, { depth: 10 }), key, String(status))
  }
})

test('The cause of a failure has the reason for the log', async (t) => {
  const { server, provider } = await subject(t)
  await server.stop()
  await t.rejects(chat(provider), {
    code: 'UPSTREAM_ERROR',
    cause: { message: /Connection error.*ECONNREFUSED/ },
  })
})

test('The cause of a failure quotes neither the chat nor the reply', async (t) => {
  const { server, provider } = await subject(t)
  const message = 'Failed on: Say hello.'
  for (const [name, answer, cause] of [
    [
      'a status',
      (response) => sendJson(response, 500, { error: { message, type: message, code: 'server_error' } }),
      'status 500, server_error',
    ],
    ['a text', (response) => response.writeHead(503).end(message), 'status 503, no code'],
    [
      'an error in mid-reply',
      (response) => begin(response).end(event({ error: { message, type: 'overloaded' } })),
      'status none, within the reply, overloaded',
    ],
    [
      'a piece that does not parse',
      (response) => begin(response).end('data: Say hello.\n\n'),
      'An event of the answer is not valid JSON.',
    ],
  ] as readonly [name: string, answer: ModelHttpAnswer, cause: string][]) {
    server.answer = answer
    const thrown = await chat(provider).catch((error: unknown) => error)
    t.match(thrown, { code: 'UPSTREAM_ERROR', cause: { message: cause } }, name)
    t.notMatch(inspect(thrown, { depth: 10 }), 'hello', name)
  }
})

test('A server without HTTP is an upstream error', async (t) => {
  const raw = createServer((socket) => socket.end('220 mail.example.org ESMTP\r\n'))
  raw.listen(0, '127.0.0.1')
  await once(raw, 'listening')
  t.teardown(() => raw.close())
  const { port } = raw.address() as { port: number }
  const { server } = await subject(t)
  const provider = providerOf(server, { endpoint: `http://127.0.0.1:${port}/v1` })
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR' })
})

test('A server that is too slow has another error than a server that fails', async (t) => {
  for (const [thrown, code] of [
    [new Error('Request timed out.'), 'UPSTREAM_TIMEOUT'],
    [Object.assign(new Error('read ETIMEDOUT'), { code: 'ETIMEDOUT' }), 'UPSTREAM_TIMEOUT'],
    [Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), 'UPSTREAM_ERROR'],
  ] as const) {
    t.match(providerError(nowhere, thrown), { code, permanent: false }, thrown.message)
  }
})

test('A connection that idles too long within a reply is a timeout', async (t) => {
  for (const [code, expected] of [
    ['UND_ERR_BODY_TIMEOUT', 'UPSTREAM_TIMEOUT'],
    ['UND_ERR_SOCKET', 'UPSTREAM_ERROR'],
  ] as const) {
    const thrown = new TypeError('terminated', { cause: Object.assign(new Error('…'), { code }) })
    t.match(providerError(nowhere, thrown), { code: expected, permanent: false })
  }
})
