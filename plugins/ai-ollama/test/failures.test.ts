import { test } from 'tap'
import { createChatNode } from './chat-node.ts'
import { chatError } from './chatting.ts'
import { startOllamaServer } from './ollama-server.ts'
import { textLines } from './ollama-wire.ts'

const now = () => new AbortController().signal

test('The provider does not follow redirects', async (t) => {
  const other = await startOllamaServer()
  t.teardown(() => other.stop())
  const { provider, server } = await createChatNode(t)
  server.answer = (response, { url }) => {
    response.writeHead(307, { location: `${other.url}${url}` }).end()
  }
  const moved = {
    code: 'UPSTREAM_ERROR',
    permanent: true,
    message: /has moved\. The owner of the node must correct ai-ollama\.host\.$/,
  }
  t.match(await chatError(provider), moved)
  await t.rejects(provider.models(now()), moved)
  t.same(other.headers(), {}, 'The other server got no request.')
})

test('An unknown model is not found', async (t) => {
  const { provider } = await createChatNode(t)
  t.match(await chatError(provider, { model: 'no-such-model' }), { code: 'NOT_FOUND', permanent: true })
})

test('The error of an address without Ollama differs from that of an unknown model', async (t) => {
  const { provider, server } = await createChatNode(t)
  const noApi = {
    code: 'UPSTREAM_ERROR',
    permanent: true,
    message:
      'The AI provider "ollama" has no API at its address. The owner of the node must check ai-ollama.host.',
  }
  for (const [body, expected] of [
    ['404 page not found', noApi],
    ['<html><h1>404 Not Found</h1><p>Look at our model trains.</p></html>', noApi],
    ['', noApi],
    ['{"error":"not found"}', noApi],
    ['{"error":"model \'llama1\' not found"}', { code: 'NOT_FOUND', permanent: true }],
    ['{"error":"llama3.2:latest is gone"}', { code: 'NOT_FOUND', permanent: true }],
    ['{"error":{"message":"model \'llama1\' not found","code":404}}', { code: 'NOT_FOUND', permanent: true }],
    ['{"error":{"reason":"no such model"}}', { code: 'NOT_FOUND', permanent: true }],
    ['{"error":{"message":"not found"}}', noApi],
  ] as const) {
    server.answer = (response) => {
      response.writeHead(404).end(body)
    }
    t.match(await chatError(provider), expected, body)
    await t.rejects(provider.models(now()), noApi, body)
  }
})

test('An error answer that stalls is reported in time, with the received text', async (t) => {
  const { provider, server } = await createChatNode(t)
  const closed = Promise.withResolvers<void>()
  server.answer = (response) => {
    response.once('close', closed.resolve)
    response.writeHead(400).write('{"error":"Too long."}')
  }
  t.match(await chatError(provider), { code: 'VALIDATION_ERROR', message: /It says: Too long\.$/ })
  await closed.promise
})

test('The message of the server about a request is passed on', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const [body, message] of [
    ['{"error":"llama3.2 does not support tools"}', /It says: llama3\.2 does not support tools$/],
    ['{"error":{"message":"Too long.","type":"api_error"}}', /It says: Too long\.$/],
    ['{"error":{"no":"text"}}', /It says: {"no":"text"}$/],
    ['{"error":null}', /It gives no reason\.$/],
    ['{}', /It gives no reason\.$/],
    ['400 bad request', /It gives no reason\.$/],
    ['', /It gives no reason\.$/],
  ] as const) {
    server.answer = (response) => {
      response.writeHead(400).end(body)
    }
    t.match(await chatError(provider), { code: 'VALIDATION_ERROR', permanent: true, message })
  }
})

test('The error of a missing sign-in at the server does not mention a key', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const status of [401, 403]) {
    server.play({ kind: 'status', status })
    t.match(await chatError(provider), {
      code: 'UPSTREAM_ERROR',
      permanent: true,
      message: 'The AI provider "ollama" needs a sign-in for this. The owner of the node must sign in there.',
    })
  }
})

test('An error within a reply is an upstream error, and the log has the reason', async (t) => {
  const { provider, server } = await createChatNode(t)
  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.end([...textLines(['Li']), '{"error":"llama runner process has terminated"}\n'].join(''))
  }
  const { code, message, cause } = await chatError(provider)
  t.equal(code, 'UPSTREAM_ERROR')
  t.notMatch(message, 'runner')
  t.match(String(cause), 'llama runner process has terminated')
  server.answer = (response) => {
    response.writeHead(200).end('{"error":{"message":"the model has crashed","code":500}}\n')
  }
  t.match(await chatError(provider), { code: 'UPSTREAM_ERROR', cause: { message: 'the model has crashed' } })
})

test('The log does not get quotes of the server', async (t) => {
  const { provider, server } = await createChatNode(t)
  const error = `error parsing tool call: raw='{"note":"buy milk"', err=unexpected end of JSON input`
  for (const status of [200, 500]) {
    server.answer = (response) => {
      response.writeHead(status, { 'content-type': 'application/x-ndjson' })
      response.end(`${JSON.stringify({ error })}\n`)
    }
    const { cause } = await chatError(provider)
    t.match(String(cause), /error parsing tool call: raw=$/)
  }
})

test('The provider does not buffer an endless answer', async (t) => {
  const { provider, server } = await createChatNode(t)
  const asking = [() => chatError(provider), () => t.rejects(provider.models(now()))]
  for (const ask of asking) {
    for (const status of [200, 400]) {
      let sent = 0
      const closed = new Promise<void>((resolve) => {
        server.answer = (response) => {
          response.writeHead(status, { 'content-type': 'application/json' })
          const piece = 'x'.repeat(65536)
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
      await ask()
      await closed
      t.ok(sent < 32 * 1024 * 1024, `The client took ${sent} bytes.`)
    }
  }
})

test('A malformed list of models is an upstream error', async (t) => {
  const { provider, server } = await createChatNode(t)
  for (const body of ['', 'null', '{}', '{"models":7}', '{"models":[null]}', '<h1>It works!</h1>']) {
    server.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    }
    await t.rejects(provider.models(now()), { code: 'UPSTREAM_ERROR' }, body)
  }
  server.answer = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"models":[{},{"name":7},{"model":"a"},{"name":"b","model":"c"},{"name":"a"}]}')
  }
  t.same(await provider.models(now()), ['a', 'b'], 'A model without a name is left out.')
})

test('Without a server, the error names its host and what to do', async (t) => {
  const { provider, server } = await createChatNode(t)
  await server.stop()
  const { host } = new URL(server.url)
  const message = `The AI provider "ollama" cannot be reached at ${host}. The owner of the node must check that the server runs there, or correct ai-ollama.host.`
  t.match(await chatError(provider), { code: 'UPSTREAM_ERROR', permanent: false, message })
  await t.rejects(provider.models(now()), { message })
})
