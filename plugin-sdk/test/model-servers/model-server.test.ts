import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ChatDelta, NodekeepError } from '@nodekeep/plugin-sdk'
import { modelServer } from '@nodekeep/plugin-sdk/model-servers'
import { type Test, test } from 'tap'

const key = 'acme-secret-4f9a'
const { signal } = new AbortController()

/** Starts a server with this answer, and returns its connection and the requests that arrive. */
async function start(t: Test, answer: (response: ServerResponse, request: IncomingMessage) => unknown) {
  const requests: IncomingMessage[] = []
  const bodies: string[] = []
  const http = createServer(async (request, response) => {
    requests.push(request)
    bodies.push(await text(request))
    await answer(response, request)
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const stop = async () => {
    if (!http.listening) return
    http.close()
    http.closeAllConnections()
    await once(http, 'close')
  }
  t.teardown(stop)
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`
  const server = modelServer({
    name: 'acme',
    url,
    setting: 'ai-acme.url',
    key,
    headers: { 'x-acme-key': key },
  })
  return { server, requests, bodies, stop }
}

const json = (response: ServerResponse, status: number, value: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

test('A request has its body, the headers of the options, and nothing about the machine', async (t) => {
  const { server, requests, bodies } = await start(t, (response) => json(response, 200, { models: ['a'] }))
  t.same(await server.json('/models', { signal }), { models: ['a'] })
  t.same(await server.json('/chat', { signal, body: { model: 'a' } }), { models: ['a'] })
  t.same(
    requests.map(({ method, url }) => `${method} ${url}`),
    ['GET /v1/models', 'POST /v1/chat'],
  )
  t.same(bodies, ['', '{"model":"a"}'])
  for (const { headers } of requests) {
    t.match(headers, { 'x-acme-key': key, 'user-agent': 'Nodekeep', 'accept-encoding': 'identity' })
  }
  t.equal(requests[1]?.headers['content-type'], 'application/json')
})

test('Lines and events come as they are read', async (t) => {
  const { server } = await start(t, (response, { url }) =>
    response.end(url === '/v1/lines' ? '{"a":1}\n\n{"a":2}\n' : 'data:\n\nevent: x\ndata: {"a":1}\n\n'),
  )
  t.same(await Array.fromAsync(server.lines('/lines', { signal })), [{ a: 1 }, { a: 2 }])
  t.match(await Array.fromAsync(server.events('/events', { signal })), [{ event: 'x', data: '{"a":1}' }])
})

test('Each failure of a request and of a body is an error of the contract, without the key', async (t) => {
  let answer: (response: ServerResponse) => unknown = () => {}
  const { server } = await start(t, (response) => answer(response))
  const body = { model: 'a-1' }
  const asks = {
    json: () => server.json('/x', { signal, body, model: 'a-1', maxBytes: 1000 }),
    lines: () => Array.fromAsync(server.lines('/x', { signal, body, model: 'a-1', maxBytes: 1000 })),
    events: () => Array.fromAsync(server.events('/x', { signal, body, model: 'a-1', maxBytes: 1000 })),
  }
  const refused = { code: 'VALIDATION_ERROR', permanent: true }
  const upstream = { code: 'UPSTREAM_ERROR', permanent: false }
  const noApi = { code: 'UPSTREAM_ERROR', permanent: true, message: /no API at its address.*ai-acme\.url/ }
  const cases: [name: string, answer: typeof answer, expected: object, ...only: (keyof typeof asks)[]][] = [
    [
      '400',
      (to) => json(to, 400, { error: `No ${key}.` }),
      { ...refused, message: /It says: No \[secret\]\.$/ },
    ],
    ['422', (to) => json(to, 422, { detail: 'Too long.' }), { ...refused, message: /It says: Too long\.$/ }],
    ['413', (to) => to.writeHead(413).end('Too long.'), { ...refused, message: /It says: Too long\.$/ }],
    ['a page of 400', (to) => to.writeHead(400).end('<h1>No</h1>'), { message: /It gives no reason\.$/ }],
    ['404', (to) => to.writeHead(404).end('404'), noApi],
    ['404 of a model', (to) => json(to, 404, { error: 'a-1?' }), { code: 'NOT_FOUND' }],
    [
      'no credit',
      (to) => json(to, 429, { error: { message: 'Pay.', code: 'insufficient_quota' } }),
      { reason: 'insufficient_quota' },
    ],
    [
      '429',
      (to) => to.writeHead(429, { 'retry-after': '7' }).end(),
      { code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '7' } },
    ],
    [
      'a redirect',
      (to) => to.writeHead(307, { location: '/v1/y' }).end(),
      { message: /has moved.*ai-acme\.url/ },
    ],
    ['a page', (to) => to.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in</h1>'), noApi],
    ['no JSON', (to) => to.writeHead(200).end(`no ${key}\n`), upstream, 'json', 'lines'],
    ['a cut', (to) => to.writeHead(200).write('data: "', () => to.destroy()), upstream],
    ['too long', (to) => to.writeHead(200).end(`data: ${'x'.repeat(2000)}`), upstream],
    [
      'an error of the key in JSON',
      (to) => json(to, 200, { error: { message: `No ${key}: sk-12…`, code: 'invalid_api_key' } }),
      { code: 'UPSTREAM_ERROR', permanent: true, message: /^(?!.*sk-12)/ },
      'json',
      'events',
    ],
    [
      'an error of the server in JSON',
      (to) => json(to, 200, { error: { message: 'Overloaded', type: 'overloaded_error', code: 529 } }),
      upstream,
      'json',
      'events',
    ],
    [
      'a limit in JSON',
      (to) => json(to, 200, { error: { message: 'Slow.', code: 429 } }),
      { code: 'TOO_MANY_REQUESTS' },
      'json',
      'events',
    ],
    [
      'an error in JSON',
      (to) => json(to, 200, { error: { message: 'Too long.' } }),
      { ...refused, message: /It says: Too long\.$/ },
      'json',
      'events',
    ],
  ]
  for (const [name, given, expected, ...only] of cases) {
    answer = given
    for (const kind of only.length > 0 ? only : (Object.keys(asks) as (keyof typeof asks)[])) {
      const thrown = await asks[kind]().catch((error: unknown) => error)
      t.match(thrown, { name: 'NodekeepError', ...expected }, `${kind}: ${name}`)
      t.notMatch(`${(thrown as Error).message} ${(thrown as Error).cause}`, key)
    }
  }
})

test('The error of a server that is down names its host', async (t) => {
  const { server, stop } = await start(t, () => {})
  await stop()
  const gone = { code: 'UPSTREAM_ERROR', message: /cannot be reached at 127\.0\.0\.1:.*ai-acme\.url/ }
  await t.rejects(server.json('/x', { signal }), gone)
  await t.rejects(Array.fromAsync(server.lines('/x', { signal })), gone)
  await t.rejects(Array.fromAsync(server.events('/x', { signal })), gone)
})

test('An aborted request ends with the reason of its signal', async (t) => {
  const { server, requests } = await start(t, (response) => response.write('{"a":1}\ndata: x\n\n'))
  const reason = new Error('Enough.')
  for (const ask of [server.json, server.lines, server.events]) {
    const controller = new AbortController()
    const answer = ask('/x', { signal: controller.signal })
    const ended = ('then' in answer ? answer : Array.fromAsync(answer)).catch((error: unknown) => error)
    while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    controller.abort(reason)
    t.equal(await ended, reason)
    requests.length = 0
  }
  const controller = new AbortController()
  const read = async () => {
    for await (const _ of server.lines('/x', { signal: controller.signal })) controller.abort(reason)
  }
  t.equal(await read().catch((error: unknown) => error), reason, 'A line is read before the answer ends.')
})

test('A library gets bounded answers to what it reads as a whole, and the stream of a chat', async (t) => {
  const closed = Promise.withResolvers<void>()
  const { server, requests } = await start(t, (response, { method, url }) => {
    if (url === '/v1/none') return response.writeHead(204).end()
    if (url === '/v1/refused') return response.writeHead(400).end('No.')
    if (method === 'POST') return response.write('first')
    response.once('close', closed.resolve)
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    }
    response.on('drain', more)
    more()
  })
  await t.rejects(server.fetch('/endless'), { message: /longer than/ })
  await closed.promise
  t.equal((await server.fetch('/none')).status, 204)
  const refused = await server.fetch('/refused', { headers: { 'x-own': '1', 'x-acme-key': 'other' } })
  t.same([refused.status, await refused.text()], [400, 'No.'])
  t.match(requests.at(-1)?.headers, { 'x-own': '1', 'x-acme-key': key })
  const stream = (await server.fetch('/chat', { method: 'POST', body: '{}' })).body?.getReader()
  t.equal(Buffer.from((await stream?.read())?.value ?? []).toString(), 'first')
  await stream?.cancel()
})

test('A reply ends with "finish", or with an error of the contract', async (t) => {
  const { server } = await start(t, () => {})
  const finish = { type: 'finish', reason: 'stop' } as const
  const reply = (read: () => AsyncGenerator<ChatDelta>) =>
    Array.fromAsync(server.reply({ model: 'a-1' }, signal, read))
  t.same(
    await reply(async function* () {
      yield finish
    }),
    [finish],
  )
  for (const [name, read, expected] of [
    ['no finish', async function* () {}, { code: 'UPSTREAM_ERROR', cause: { message: /without "finish"/ } }],
    [
      'a fault of the reader',
      async function* () {
        yield finish
        throw new TypeError(`null of ${key}`)
      },
      { code: 'UPSTREAM_ERROR', cause: { message: 'null of [secret]' } },
    ],
    [
      'its own error',
      async function* () {
        yield* []
        throw new NodekeepError('NOT_FOUND', 'Not there.')
      },
      { code: 'NOT_FOUND', message: 'Not there.' },
    ],
  ] as [string, () => AsyncGenerator<ChatDelta>, object][]) {
    t.match(await reply(read).catch((error: unknown) => error), expected, name)
  }
  const left = server.reply({ model: 'a-1' }, signal, async function* (signal) {
    yield { type: 'text', text: 'Li' }
    await once(signal, 'abort')
  })
  for await (const _ of left) break
  const reason = new Error('Enough.')
  const aborted = server.reply({ model: 'a-1' }, AbortSignal.abort(reason), async function* (signal) {
    yield* []
    signal.throwIfAborted()
  })
  t.equal(await Array.fromAsync(aborted).catch((error: unknown) => error), reason)
})
