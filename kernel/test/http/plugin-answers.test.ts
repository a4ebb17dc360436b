import { Readable } from 'node:stream'
import { createTestNode } from '@nodekeep/kernel/testing'
import {
  definePlugin,
  type ErrorCode,
  type ErrorSerializer,
  NodekeepError,
  type RoutesApp,
  Type,
} from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'
import { test } from 'tap'
import { checkErrorResponse } from './fixtures/error-answer.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const config = { access: 'public', publicReason: 'It is there for a test.' } as const
const secret = '/root/secret.ts:12'

/** Serializers of errors whose results cannot be sent. */
const confused: Record<string, ErrorSerializer> = {
  throws: () => {
    throw new Error(secret)
  },
  nothing: () => null as never,
  promise: (async () => ({ contentType: 'text/plain', body: secret })) as never,
  'no-text': () => ({ contentType: 'application/json', body: { secret } }) as never,
  'no-type': () => ({ body: secret }) as never,
  'two-lines': () => ({ contentType: `text/plain\r\nx-secret: ${secret}`, body: 'a' }),
}

/** Hooks that fail for every answer, including errors. */
const onSends = {
  early: () => {
    throw new Error(secret)
  },
  late: async () => Promise.reject(new Error(secret)),
  header: async (_request: unknown, reply: FastifyReply, payload: unknown) => {
    reply.header('x-secret', `a\r\n${secret}`)
    return payload
  },
  type: async () => ({ secret }),
}

const faulty = definePlugin({
  id: 'faulty',
  setup({ routes }) {
    routes((app) => {
      const typed = {
        response: { 200: Type.Object({ count: Type.Integer(), names: Type.Array(Type.String()) }) },
      }
      app.get('/wrong-type', { config, schema: typed }, async () => ({ count: secret }) as never)
      app.get('/missing-field', { config, schema: typed }, async () => ({}) as never)
      app.get('/circular', { config }, async () => {
        const circle: Record<string, unknown> = { secret }
        circle.again = circle
        return circle
      })
      app.get('/throws', { config }, async () => {
        throw new Error(secret, { cause: new Error(secret) })
      })
      app.get('/throws-at-once', { config }, () => {
        throw new TypeError(secret)
      })
      app.get('/throws-null', { config }, async () => Promise.reject(null))
      app.get('/throws-text', { config }, async () => Promise.reject(secret))
      app.get('/bad-status', { config }, (_request, reply) => reply.code(99).send('a'))
      app.get('/bad-header', { config }, (_request, reply) => reply.header('x-a', `a\r\n${secret}`).send('a'))
      app.get('/stream-fails-first', { config }, (_request, reply) =>
        reply.send(
          new Readable({
            read() {
              this.destroy(new Error(secret))
            },
          }),
        ),
      )
      app.get('/conflict', { config }, async (_request, reply) => {
        reply.headers({
          etag: '"1"',
          'cache-control': 'max-age=60',
          'content-encoding': 'gzip',
          'x-kept': 'yes',
        })
        throw new NodekeepError('CONFLICT', 'Two at once.', {
          headers: { 'retry-after': '3', 'x-broken': 'a\r\nb: c', 'bad name': 'd' },
        })
      })
      app.get('/sensible', { config }, async () => {
        throw app.httpErrors.unprocessableEntity('Not like this.')
      })
      app.get('/half', { config }, (_request, reply) =>
        reply.send(
          Readable.from(
            (async function* () {
              yield 'half of it'
              throw new Error(secret)
            })(),
          ),
        ),
      )
    })
    const refuse = (app: RoutesApp) => {
      app.get('/thing', { config }, async () => {
        throw new NodekeepError('CONFLICT', 'Not twice.')
      })
    }
    routes(refuse, {
      prefix: '/foreign',
      serializeError: ({ status, code }) => ({
        contentType: 'application/problem+json',
        body: `{"${status}":"${code}"}`,
      }),
    })
    for (const [name, serializeError] of Object.entries(confused)) {
      routes(refuse, { prefix: `/confused/${name}`, serializeError })
    }
    routes((app) => {
      for (const [way, onSend] of Object.entries(onSends)) {
        app.register(async (inner) => {
          inner.addHook('onSend', onSend as never)
          inner.get(`/on-send/${way}`, { config }, async () => secret)
          inner.get(`/on-send/${way}/conflict`, { config }, async () => {
            throw new NodekeepError('CONFLICT', 'Not twice.')
          })
          inner.get(`/on-send/${way}/nothing`, { config }, (_request, reply) => reply.callNotFound())
        })
      }
    })
  },
})

async function start() {
  const lines: string[] = []
  const node = await createTestNode({ plugins: [faulty], onLog: (line) => lines.push(line) })
  return { node, lines, logged: (id: string) => lines.find((line) => line.includes(`"${id}"`)) ?? '' }
}

test('a fault of a plugin gets a plain 500, and the log has its cause under the request id', async (t) => {
  const { node, logged } = await start()
  t.teardown(() => node.stop())
  const paths = ['/wrong-type', '/missing-field', '/circular', '/throws', '/throws-at-once', '/throws-null']
  paths.push('/throws-text', '/bad-status', '/bad-header', '/stream-fails-first')
  for (const path of paths) {
    const answer = await node.fetch(path)
    const id = answer.headers.get('x-request-id') ?? ''
    await checkErrorResponse(t, answer, 'INTERNAL_ERROR', path)
    const line = JSON.parse(logged(id))
    t.match(line, { level: 'error', plugin: 'faulty', reqId: id, path }, `${path} in the log`)
    t.ok('err' in line)
  }
})

test('an error replaces a prepared answer', async (t) => {
  const { node, lines } = await start()
  t.teardown(() => node.stop())
  const answer = await node.fetch('/conflict')
  const headers = Object.fromEntries(answer.headers)
  t.match(headers, { 'retry-after': '3', 'x-kept': 'yes' })
  for (const name of ['etag', 'cache-control', 'content-encoding', 'x-broken', 'b', 'bad name']) {
    t.notOk(name in headers, name)
  }
  await checkErrorResponse(t, answer, 'CONFLICT')
  const sensible: ErrorCode = 'UNPROCESSABLE'
  await checkErrorResponse(t, await node.fetch('/sensible'), sensible)
  t.notMatch(lines.join(''), /"level":"error"/, 'the log has no error about a mistake of a client')
})

test('the node cuts the connection of a stream that fails halfway, so that no client takes it for complete', async (t) => {
  const { node, logged } = await start()
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  const answer = connection.answer().catch(() => null)
  connection.send(rawRequest('GET', '/half'))
  t.equal(await answer, null)
  const received = await connection.ended()
  t.match(received, 'half of it')
  t.notMatch(received, secret)
  const id = /x-request-id: (\S+)/.exec(received)?.[1] ?? ''
  t.match(JSON.parse(logged(id)), { level: 'error', plugin: 'faulty', err: { message: secret } })
})

test('a foreign protocol has errors in its own form only below its prefix', async (t) => {
  const { node } = await start()
  t.teardown(() => node.stop())
  for (const [path, status, body] of [
    ['/foreign/thing', 409, '{"409":"CONFLICT"}'],
    ['/foreign/nothing', 404, '{"404":"NOT_FOUND"}'],
    ['/foreign', 404, '{"404":"NOT_FOUND"}'],
  ] as const) {
    const answer = await node.fetch(path)
    t.equal(answer.status, status, path)
    t.equal(answer.headers.get('content-type'), 'application/problem+json')
    t.equal(await answer.text(), body)
  }
  const wrongMethod = await node.fetch('/foreign/thing', { method: 'POST' })
  t.equal(await wrongMethod.text(), '{"405":"METHOD_NOT_ALLOWED"}')
  await checkErrorResponse(
    t,
    await node.fetch('/foreigner'),
    'NOT_FOUND',
    'a path that only begins with the same characters',
  )
  for (const name of Object.keys(confused))
    await checkErrorResponse(t, await node.fetch(`/confused/${name}/thing`), 'CONFLICT', name)
})

test('an answer that fails during sending shows the cause neither in the answer nor in its error', async (t) => {
  const { node, lines } = await start()
  t.teardown(() => node.stop())
  for (const way of Object.keys(onSends)) {
    for (const path of [`/on-send/${way}`, `/on-send/${way}/conflict`, `/on-send/${way}/nothing`]) {
      const answer = await node.fetch(path)
      const id = answer.headers.get('x-request-id') ?? ''
      await checkErrorResponse(t, answer, 'INTERNAL_ERROR', path)
      const logged = lines.map((line) => JSON.parse(line)).filter((line) => line.reqId === id)
      t.match(logged, [{ level: 'error', plugin: 'faulty', path, err: {} }], `${path} in the log`)
      t.ok(logged.every(({ req, res }) => req === undefined && res === undefined))
      t.equal((await node.fetch(path, { method: 'HEAD' })).status, 500)
    }
  }
})
