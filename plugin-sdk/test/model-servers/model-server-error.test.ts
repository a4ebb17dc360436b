import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { inspect } from 'node:util'
import { type ErrorCode, NodekeepError } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { modelServerError } from '../../src/model-servers/model-server-error.ts'

test('Statuses of a model server become errors of the table', async (t) => {
  const expected: readonly [status: number | undefined, code: ErrorCode, permanent: boolean][] = [
    [undefined, 'UPSTREAM_ERROR', false],
    [400, 'VALIDATION_ERROR', true],
    [401, 'UPSTREAM_ERROR', true],
    [403, 'UPSTREAM_ERROR', true],
    [404, 'NOT_FOUND', true],
    [408, 'UPSTREAM_TIMEOUT', false],
    [413, 'VALIDATION_ERROR', true],
    [422, 'VALIDATION_ERROR', true],
    [429, 'TOO_MANY_REQUESTS', false],
    [500, 'UPSTREAM_ERROR', false],
    [503, 'UPSTREAM_ERROR', false],
    [504, 'UPSTREAM_TIMEOUT', false],
    [529, 'UPSTREAM_ERROR', false],
  ]
  for (const [status, code, permanent] of expected) {
    const error = modelServerError('acme', status === undefined ? {} : { status })
    t.equal(error.code, code, `${status}`)
    t.equal(error.permanent, permanent, `${status}`)
    t.match(error.message, '"acme"')
  }
})

test('The message of the server is shown only if it is about the request', async (t) => {
  const message = 'The model takes\n8192 tokens.'
  t.match(modelServerError('acme', { status: 400, message }).message, 'The model takes 8192 tokens.')
  for (const status of [401, 403, 404, 429, 500, undefined]) {
    const error = modelServerError('acme', { ...(status === undefined ? {} : { status }), message })
    t.notMatch(error.message, '8192', `${status}`)
  }
  const long = modelServerError('acme', { status: 400, message: 'x'.repeat(10_000) })
  t.ok(long.message.length < 700)
})

test('The error of an address without the API differs from that of an unknown model', async (t) => {
  const asked = { setting: 'ai-acme.url', model: 'acme-1' }
  const noApi = {
    code: 'UPSTREAM_ERROR',
    permanent: true,
    message:
      'The AI provider "acme" has no API at its address. The owner of the node must check ai-acme.url.',
  }
  for (const message of [
    ...['', '404 page not found', '{"detail":"Not Found"}', 'File Not Found', 'Cannot POST /chat'],
    ...['Invalid URL (POST /chat/completions)', 'Unexpected endpoint or method.'],
  ]) {
    t.match(modelServerError('acme', { ...asked, status: 404, message }), noApi, message)
  }
  for (const message of [
    ...["model 'acme-1' not found", 'model: acme-1', 'There is no acme-1.', 'The Model is gone.'],
    ...['The API deployment for this resource does not exist.', 'No endpoints found that support tool use'],
  ]) {
    const error = modelServerError('acme', { ...asked, status: 404, message })
    t.match(error, { code: 'NOT_FOUND', permanent: true }, message)
  }
  const list = { setting: 'ai-acme.url', status: 404, message: 'There is no /v1/models.' }
  t.match(modelServerError('acme', list), noApi, 'A failed list of models is no unknown model.')
  t.match(modelServerError('acme', { status: 404, message: 'Not Found' }), { code: 'NOT_FOUND' })
})

test('A redirect of the server means that it has moved', async (t) => {
  for (const status of [301, 302, 307, 308]) {
    const error = modelServerError('acme', { status, setting: 'ai-acme.url' })
    const message = /"acme" has moved\. .* owner of the node must correct ai-acme\.url\.$/
    t.match(error, { code: 'UPSTREAM_ERROR', permanent: true, message }, `${status}`)
  }
})

test('The error has retry-after in seconds', async (t) => {
  const headers = (retryAfter: string | null) => modelServerError('acme', { status: 429, retryAfter }).headers
  t.strictSame(headers('7'), { 'retry-after': '7' })
  t.strictSame(headers('0.2'), { 'retry-after': '1' })
  t.strictSame(headers('-3'), { 'retry-after': '0' })
  const inHalfAMinute = Number(headers(new Date(Date.now() + 30_000).toUTCString())['retry-after'])
  t.ok(inHalfAMinute >= 28 && inHalfAMinute <= 31)
  for (const none of [null, '', 'soon', '1e999']) t.strictSame(headers(none), {}, `${none}`)
})

test('An error of the table that was thrown during the call stays unchanged', async (t) => {
  const refused = new NodekeepError('VALIDATION_ERROR', 'Images must be "data:" URLs.', { permanent: true })
  t.equal(modelServerError('acme', { cause: refused }), refused)
  const withStatus = modelServerError('acme', { status: 500, cause: refused })
  t.match(withStatus, { code: 'UPSTREAM_ERROR', cause: refused })
})

test('The error of a server that cannot be reached names its host and what to do', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const host = `127.0.0.1:${(closed.address() as AddressInfo).port}`
  closed.close()
  await once(closed, 'close')
  const server = { address: `http://${host}/v1`, setting: 'ai-acme.url' }
  const message = `The AI provider "acme" cannot be reached at ${host}. The owner of the node must check that the server runs there, or correct ai-acme.url.`
  const refused = await fetch(server.address).catch((error: unknown) => error)
  const causes = [
    refused,
    await fetch('http://127.0.0.1:1').catch((error: unknown) => error),
    Object.assign(new Error('getaddrinfo ENOTFOUND acme'), { syscall: 'getaddrinfo' }),
    new TypeError('fetch failed', {
      cause: new AggregateError([Object.assign(new Error('no'), { syscall: 'connect' })]),
    }),
  ]
  for (const cause of causes) {
    t.match(modelServerError('acme', { ...server, cause }), {
      code: 'UPSTREAM_ERROR',
      permanent: false,
      message,
    })
  }
  const cut = modelServerError('acme', { ...server, cause: new TypeError('terminated') })
  t.notMatch(cut.message, 'reached')
  t.match(modelServerError('acme', { cause: refused }).message, /"acme" cannot be reached\. /)
  const circle = new Error('circle')
  circle.cause = circle
  t.equal(modelServerError('acme', { ...server, cause: circle }).code, 'UPSTREAM_ERROR')
})

test('A connection that was silent for too long is a timeout', async (t) => {
  for (const [code, becomes] of [
    ['UND_ERR_HEADERS_TIMEOUT', 'UPSTREAM_TIMEOUT'],
    ['UND_ERR_BODY_TIMEOUT', 'UPSTREAM_TIMEOUT'],
    ['UND_ERR_SOCKET', 'UPSTREAM_ERROR'],
  ] as const) {
    const cause = new TypeError('terminated', { cause: Object.assign(new Error('…'), { code }) })
    t.match(modelServerError('acme', { cause }), { code: becomes, permanent: false, cause })
  }
})

test('An account without credit, an unknown model and a long conversation have a reason', async (t) => {
  const quota = {
    code: 'UPSTREAM_ERROR',
    permanent: true,
    reason: 'insufficient_quota',
    message: /no credit left/,
  }
  t.match(modelServerError('acme', { status: 402 }), quota)
  t.match(modelServerError('acme', { status: 429, code: 'insufficient_quota' }), quota)
  t.match(modelServerError('acme', { code: 'insufficient_quota' }), quota, 'The error may be within a reply.')
  t.match(modelServerError('acme', { status: 404 }), { code: 'NOT_FOUND', reason: 'model_not_found' })
  for (const failure of [
    { code: 'context_length_exceeded' },
    { code: 'exceed_context_size_error' },
    { message: "This model's maximum context length is 4096 tokens." },
    { message: 'prompt is too long: 210000 tokens > 200000 maximum' },
  ]) {
    const error = modelServerError('acme', { status: 400, ...failure })
    t.match(error, { code: 'VALIDATION_ERROR', reason: 'context_length_exceeded' })
  }
  t.equal(modelServerError('acme', { status: 400 }).reason, null)
})

test('The key is removed from the message and from the cause', async (t) => {
  const key = 'sk-acme-123'
  const message = `Bearer ${key} may not use this.`
  const cause = new Error('It failed.', { cause: new Error(`authorization: ${key}`) })
  const error = modelServerError('acme', { status: 400, message, key, cause })
  t.match(error.message, /It says: Bearer \[secret\] may not use this\.$/)
  t.notOk(inspect(error, { depth: 10 }).includes(key))
  const other = new Error('It failed.')
  t.equal(modelServerError('acme', { status: 500, key, cause: other }).cause, other)
  t.match(modelServerError('acme', { status: 400, message, key: '' }).message, key)
})
