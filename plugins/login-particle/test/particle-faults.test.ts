import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { LoginProvider } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createLoginNode } from './fixtures/login-node.ts'
import { project, sendJson, startParticleServer, user, userInfo } from './fixtures/particle-server.ts'

const right = { jsonrpc: '2.0', id: 1, result: userInfo }

function verify(provider: LoginProvider, signal = new AbortController().signal) {
  return provider.verify(user, { origin: new URL('http://127.0.0.1'), signal })
}

/** Returns an answer with a status, headers and a body. Its default type is `application/json`. */
function answer(status: number, body: string | Buffer = JSON.stringify(right), headers: object = {}) {
  return (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  }
}

test('A malformed answer is an upstream error', async (t) => {
  const { provider, server, log } = await createLoginNode(t)
  const cases: Record<string, (response: ServerResponse) => void> = {
    'a page': answer(200, '<!doctype html><title>Welcome</title>', { 'content-type': 'text/html' }),
    'the right text as another type': answer(200, undefined, { 'content-type': 'text/plain' }),
    'a type of nearly that name': answer(200, undefined, { 'content-type': 'application/jsonp' }),
    nothing: answer(200, ''),
    'half of it': answer(200, JSON.stringify(right).slice(0, 80)),
    'not UTF-8': answer(200, Buffer.from(JSON.stringify({ ...right, name: 'Zo\u00eb' }), 'latin1')),
    'not gzip': answer(200, undefined, { 'content-encoding': 'gzip' }),
    null: answer(200, 'null'),
    'a list': answer(200, JSON.stringify([right])),
    'another protocol': answer(200, JSON.stringify({ ...right, jsonrpc: '1.0' })),
    'another id': answer(200, JSON.stringify({ ...right, id: 2 })),
    'an error to another id': answer(200, JSON.stringify({ jsonrpc: '2.0', id: 2, error: { code: 40101 } })),
    'an error without code': answer(200, JSON.stringify({ jsonrpc: '2.0', id: 1, error: 'no' })),
    'no result': answer(200, JSON.stringify({ jsonrpc: '2.0', id: 1 })),
    'no uuid': answer(200, JSON.stringify({ ...right, result: { wallets: userInfo.wallets } })),
    'no wallets': answer(200, JSON.stringify({ ...right, result: { uuid: user.uuid } })),
    'wallets of another form': answer(
      200,
      JSON.stringify({
        ...right,
        result: { ...userInfo, wallets: [{ chain_name: 'evm_chain', public_address: user.address }] },
      }),
    ),
    'a server error': answer(500),
    'not found': answer(404),
    'created, though it is an answer': answer(201),
    'not JSON-RPC any more': answer(410, ''),
    ...Object.fromEntries(
      [10001, 40110, -32700, -32600, -32601, -32603, -32000].map((code) => [
        `the error ${code}`,
        answer(200, JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message: 'x' } })),
      ]),
    ),
  }
  for (const [name, respond] of Object.entries(cases)) {
    server.answer = respond
    await t.rejects(verify(provider), { code: 'UPSTREAM_ERROR' }, name)
  }
  t.notMatch(log.join('\n'), /"level":50/, 'The log does not blame the configuration.')
})

test('The provider does not follow a redirect, so the key goes to no other server', async (t) => {
  const { provider, server } = await createLoginNode(t)
  const elsewhere = await startParticleServer()
  t.teardown(() => elsewhere.close())
  for (const status of [301, 302, 303, 307, 308]) {
    server.answer = answer(status, undefined, { location: elsewhere.url.href })
    await t.rejects(verify(provider), { code: 'UPSTREAM_ERROR' }, String(status))
  }
  t.strictSame(elsewhere.questions, [])
})

test('The provider stops reading an answer that is too large', async (t) => {
  const { provider, server } = await createLoginNode(t, { maxResponseBytes: 2048 })
  const large = JSON.stringify({ ...right, padding: 'x'.repeat(4096) })
  const tooLarge = { code: 'UPSTREAM_ERROR', cause: { message: /larger than 2048 bytes/ } }
  server.answer = answer(200, large)
  await t.rejects(verify(provider), tooLarge, 'The answer has a known length.')
  server.answer = answer(200, gzipSync(large), { 'content-encoding': 'gzip' })
  await t.rejects(verify(provider), tooLarge, 'The answer is compressed.')

  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const writeMore = () => {
      while (!response.destroyed && response.write('x'.repeat(1024)));
      if (!response.destroyed) response.once('drain', writeMore)
    }
    writeMore()
  }
  const request = server.next()
  await t.rejects(verify(provider), tooLarge, 'The answer is endless.')
  await (await request).closed
  t.pass('The connection is closed.')
})

test('A server that is down is an upstream error', async (t) => {
  const { provider, server } = await createLoginNode(t)
  await server.close()
  const thrown = {
    code: 'UPSTREAM_ERROR',
    message: 'Particle Network could not be reached. Try again later.',
  }
  await t.rejects(verify(provider), thrown)
})

test('A broken connection is an upstream error, and the request is not retried', async (t) => {
  const { provider, server } = await createLoginNode(t)
  server.answer = (response) => response.destroy()
  await t.rejects(verify(provider), { code: 'UPSTREAM_ERROR' }, 'The connection breaks before the answer.')
  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 4096 })
    response.write('{"jsonrpc":', () => response.destroy())
  }
  await t.rejects(verify(provider), { code: 'UPSTREAM_ERROR' }, 'The connection breaks within the answer.')
  t.equal(server.questions.length, 2)
})

test('A server without HTTP is an upstream error', async (t) => {
  const raw = createServer((socket) => socket.end('220 mail.example.org ESMTP\r\n'))
  raw.listen(0, '127.0.0.1')
  await once(raw, 'listening')
  t.teardown(() => raw.close())
  const { port } = raw.address() as { port: number }
  const { provider } = await createLoginNode(t, { baseURL: `http://127.0.0.1:${port}/` })
  await t.rejects(verify(provider), { code: 'UPSTREAM_ERROR' })
})

test('A slow server is a timeout, before the headers and within the body', async (t) => {
  const { provider, server } = await createLoginNode(t, { timeoutMs: 500 })
  const late = { code: 'UPSTREAM_TIMEOUT', message: /took too long/ }
  const silent = server.next()
  server.answer = () => {}
  await t.rejects(verify(provider), late, 'The server sends no headers.')
  await (await silent).closed

  const stalled = server.next()
  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":')
  }
  await t.rejects(verify(provider), late, 'The server does not end the body.')
  await (await stalled).closed
  t.pass('Both connections are closed.')
})

test('The request to Particle Network ends when the client disconnects', async (t) => {
  const { provider, server } = await createLoginNode(t)
  for (const begin of ['', '{"jsonrpc":']) {
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      if (begin === '') response.flushHeaders()
      else response.write(begin)
    }
    const asked = server.next()
    const abort = new AbortController()
    const verifying = verify(provider, abort.signal)
    const { closed } = await asked
    const reason = new Error('The client is gone.')
    abort.abort(reason)
    t.equal(await verifying.catch((error: unknown) => error), reason)
    await closed
  }
  const before = server.questions.length
  await t.rejects(verify(provider, AbortSignal.abort()), { name: 'AbortError' })
  t.equal(server.questions.length, before, 'A client that has disconnected before causes no request.')
})

test('The stop of the plugin ends its requests', async (t) => {
  const { provider, server, node } = await createLoginNode(t, { timeoutMs: 60000 })
  server.answer = () => {}
  const asked = server.next()
  const ended = t.rejects(verify(provider), { code: 'SERVICE_UNAVAILABLE' })
  const { closed } = await asked
  await node.stop()
  await ended
  await closed
})

test('The wait that a busy server requests is passed on', async (t) => {
  const { provider, server } = await createLoginNode(t)
  const retryDate = new Date(Date.now() + 90_000).toUTCString()
  const cases: [number, object, RegExp][] = [
    [429, { 'retry-after': '17' }, /^17$/],
    [503, { 'retry-after': '1' }, /^1$/],
    [429, { 'retry-after': retryDate }, /^(8\d|9[01])$/],
    [429, { 'retry-after': new Date(0).toUTCString() }, /^1$/],
    [429, { 'retry-after': '999999999999' }, /^3600$/],
    [429, { 'retry-after': 'later' }, /^30$/],
    [429, { 'retry-after': '' }, /^30$/],
    [503, {}, /^30$/],
  ]
  for (const [status, headers, expected] of cases) {
    server.answer = answer(status, 'busy', headers)
    await t.rejects(
      verify(provider),
      { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': expected } },
      JSON.stringify(headers),
    )
  }
})

test('The error of a refused project or key names the owner', async (t) => {
  for (const section of [{ serverKey: 'another-key' }, { projectId: 'another-project' }]) {
    const { provider, log } = await createLoginNode(t, section)
    await t.rejects(verify(provider), { code: 'UPSTREAM_ERROR', message: /Ask its owner/ })
    t.match(log.join('\n'), /Check login-particle\.projectId and login-particle\.serverKey/)
  }
  const { provider, server, log } = await createLoginNode(t)
  for (const status of [401, 403]) {
    log.length = 0
    server.answer = answer(status, 'no')
    await t.rejects(verify(provider), { code: 'UPSTREAM_ERROR', message: /Ask its owner/ })
    t.match(log.join('\n'), new RegExp(`"particleCode":${status}.*login-particle\\.serverKey`))
  }
})

test('Neither key nor token is in any error or log line', async (t) => {
  const { provider, server, log } = await createLoginNode(t, { timeoutMs: 200 })
  const { serverKey, projectId } = project
  const basic = Buffer.from(`${projectId}:${serverKey}`).toString('base64')
  const echo = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    error: { code: 40101, message: `${user.token} ${basic}` },
  })
  const answers = [
    ...[401, 403, 404, 429, 500].map((status) => answer(status, `${basic} ${user.token}`)),
    answer(302, basic, { location: `http://${projectId}:${user.token}@127.0.0.1/` }),
    answer(200, echo),
    answer(200, user.token),
    (response: ServerResponse) => sendJson(response, right),
    (response: ServerResponse) => void response.destroy(),
    () => {},
  ]
  const seen: string[] = []
  for (const respond of answers) {
    server.answer = respond
    const thrown = await verify(provider).catch((error: unknown) => error)
    for (let error = thrown; error instanceof Error; error = error.cause) {
      seen.push(error.message, error.stack ?? '', JSON.stringify(error))
    }
  }
  const everything = [...seen, ...log].join('\n')
  for (const secret of [serverKey, basic, user.token]) {
    t.notOk(everything.includes(secret), `${secret.slice(0, 4)}…`)
  }
})
