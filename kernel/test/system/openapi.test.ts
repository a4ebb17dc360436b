import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import { definePlugin, errorStatus, Type } from '@nodekeep/plugin-sdk'
import { Validator } from '@seriousme/openapi-schema-validator'
import { test } from 'tap'
import { checkErrorResponse } from '../http/fixtures/error-answer.ts'
import { rawConnection, rawRequest } from '../http/fixtures/raw-connection.ts'

const open = { access: 'public', publicReason: 'It is there for a test.' } as const

const notes = definePlugin({
  id: 'notes',
  setup({ routes }) {
    routes(
      (app) => {
        app.addSchema({ $id: 'Note', type: 'object', properties: { text: { type: 'string' } } })
        app.get('/notes', { config: open, schema: { summary: 'All notes' } }, async () => [])
        app.post(
          '/notes/:id',
          {
            schema: {
              params: Type.Object({ id: Type.Integer() }),
              querystring: Type.Object({ draft: Type.Boolean({ default: false }) }),
              body: Type.Ref('Note'),
              response: { 201: Type.Object({ note: Type.Ref('Note') }, { description: 'The note' }) },
            },
          },
          async () => ({ note: {} }) as never,
        )
        app.addHttpMethod('PROPFIND')
        app.route({ method: 'PROPFIND', url: '/notes', handler: async () => '' })
        app.get('/notes/live', { websocket: true }, () => {})
        app.get('/notes/secret', { schema: { hide: true } }, async () => '')
        app.all('/notes/any/*', async () => '')
      },
      { webSockets: true },
    )
  },
})

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly security?: unknown
  readonly responses: Record<string, unknown>
  readonly parameters?: { readonly name: string; readonly required: boolean }[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: { readonly $ref: string } }> }
}

interface Document extends Record<string, unknown> {
  readonly openapi: string
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Record<string, unknown> }
}

async function read(user: TestUser): Promise<Document> {
  const answer = await user.fetch('/openapi.json')
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as Document
}

test('the document is valid OpenAPI 3.1 and has the routes of all plugins', async (t) => {
  const node = await createTestNode({ plugins: [notes] })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const document = await read(user)
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  t.ok(valid, JSON.stringify(errors))
  t.match(document.openapi, /^3\.1\./)

  const { paths, components } = document
  for (const path of ['/whoami', '/health', '/api/system/plugins', '/notes', '/notes/{id}'])
    t.ok(path in paths, path)
  for (const path of ['/notes/live', '/notes/secret'])
    t.notOk(path in paths, `${path} cannot or won't be described`)
  t.same(
    Object.keys(paths['/notes'] ?? {}),
    ['get'],
    'the document omits methods that OpenAPI does not define',
  )
  t.same(components.schemas['notes.Note'], { type: 'object', properties: { text: { type: 'string' } } })
  const post = paths['/notes/{id}']?.post
  t.match(
    post?.parameters?.map(({ name }) => name),
    ['draft', 'id'],
  )
  t.equal(post?.parameters?.[0]?.required, false, 'a parameter with a default is optional')
  t.match(post?.requestBody, {
    content: { 'application/json': { schema: { $ref: '#/components/schemas/notes.Note' } } },
  })
  t.match(post?.responses[201], { description: 'The note' })
})

test('every operation declares its access and the schema of errors', async (t) => {
  const node = await createTestNode({ plugins: [notes] })
  t.teardown(() => node.stop())
  const { paths, components } = await read(await node.signIn())
  const error = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } }
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(operations))
      t.match(responses.default, error, `${method} ${path}`)
  }
  t.match(components.schemas.Error, {
    required: ['error', 'message', 'code'],
    properties: { code: { enum: Object.keys(errorStatus) } },
  })
  t.notOk('security' in (paths['/notes']?.get ?? {}), 'a public route has no security requirement')
  t.same(paths['/notes/{id}']?.post?.security, [{ bearer: [] }, { cookie: [] }])
})

test('the document has the routes of the active plugins', async (t) => {
  const node = await createTestNode({ plugins: [notes], config: { plugins: { notes: { required: false } } } })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const has = async () => '/notes' in (await read(owner)).paths
  t.equal(await has(), true)
  await owner.fetch('/api/system/plugins/notes/disable', { method: 'POST' })
  t.equal(await has(), false)
  await owner.fetch('/api/system/plugins/notes/enable', { method: 'POST' })
  t.equal(await has(), true)
})

function naming(id: string, $id: string, type: string) {
  return definePlugin({
    id,
    setup({ routes }) {
      routes((app) => {
        app.addSchema({ $id, type })
        app.post(`/${id}`, { schema: { body: { $ref: `${$id}#` } } }, async () => ({}))
      })
    },
  })
}

test('plugins with equal schema names keep separate schemas, and none replaces a schema of the node', async (t) => {
  const scoped = definePlugin({
    id: 'scoped',
    setup({ routes }) {
      routes((app) => {
        for (const type of ['string', 'number']) {
          app.register(async (inner) => {
            inner.addSchema({ $id: 'http://example.com/note', type })
            inner.post(
              `/${type}`,
              { schema: { body: { $ref: 'http://example.com/note#' } } },
              async () => ({}),
            )
          })
        }
      })
    },
  })
  const plugins = [naming('one', 'Error', 'string'), naming('two', 'Error', 'number'), scoped]
  const node = await createTestNode({ plugins })
  t.teardown(() => node.stop())
  const document = await read(await node.signIn())
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  t.ok(valid, JSON.stringify(errors))
  const { schemas } = document.components
  t.match(schemas.Error, { type: 'object', required: ['error', 'message', 'code'] })
  const bodyOf = (path: string) => {
    const body = document.paths[path]?.post?.requestBody?.content['application/json']
    const $ref = body?.schema.$ref ?? ''
    return schemas[$ref.replace('#/components/schemas/', '')]
  }
  t.same(bodyOf('/one'), { type: 'string' })
  t.same(bodyOf('/two'), { type: 'number' })
  t.same(bodyOf('/string'), { type: 'string' })
  t.same(bodyOf('/number'), { type: 'number' })
})

test('the document omits a route that cannot be described and keeps the others', async (t) => {
  const odd = definePlugin({
    id: 'odd',
    setup({ routes }) {
      routes((app) => {
        app.addSchema({ $id: 'Note', type: 'string' })
        const body = { $ref: 'Note#' }
        app.get('/odd/tags', { schema: { tags: 'x' } as never }, async () => '')
        app.post('/odd/consumes', { schema: { body, consumes: 5 } as never }, async () => '')
        app.post('/odd/big', { schema: { body, 'x-size': 1n } as never }, async () => '')
        app.post('/odd/fine', { schema: { body } }, async () => '')
      })
    },
  })
  const node = await createTestNode({ plugins: [odd] })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const document = await read(user)
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  t.ok(valid, JSON.stringify(errors))
  const paths = Object.keys(document.paths)
  t.same(
    paths.filter((path) => path.startsWith('/odd')),
    ['/odd/fine'],
  )
  t.ok(paths.includes('/whoami'))
  t.ok('odd.Note' in document.components.schemas)
  t.equal((await user.fetch('/odd/tags')).status, 200, 'the omitted route answers')
})

test('every operation has a unique id, and tags', async (t) => {
  const twins = (['one', 'two', 'three'] as const).map((id) =>
    definePlugin({
      id,
      setup({ routes }) {
        routes((app) => {
          app.get(`/${id}`, { schema: { operationId: 'list', tags: ['lists'] } }, async () => [])
          app.get(`/${id}/by/:name`, async () => '')
          app.get(`/${id}/rest/*`, async () => '')
          app.get(`/${id}/in`, { schema: { operationId: 'list' } }, async () => '')
        })
      },
    }),
  )
  const node = await createTestNode({ plugins: twins })
  t.teardown(() => node.stop())
  const document = await read(await node.signIn())
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  t.ok(valid, JSON.stringify(errors))
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const ids = operations.map(({ operationId }) => operationId)
  t.equal(new Set(ids).size, ids.length)
  t.match(document.paths, {
    '/one': { get: { operationId: 'list', tags: ['lists'] } },
    '/one/in': { get: { operationId: 'one.list', tags: ['one'] } },
    '/two': { get: { operationId: 'two.list' } },
    '/two/in': { get: { operationId: 'two.list-2' } },
    '/two/by/{name}': { get: { operationId: 'getTwoByByName', tags: ['two'] } },
    '/two/rest/{wildcard}': { get: { operationId: 'getTwoRestByWildcard' } },
  })
})

test('a route that reads its own body is described, and its body is not validated', async (t) => {
  const drop = definePlugin({
    id: 'drop',
    setup({ routes }) {
      routes((app) => {
        app.addContentTypeParser('*', (_request, _payload, done) => done(null, 'parsed'))
        const content = {
          'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
          'text/csv': { schema: Type.String() },
        }
        const schema = { requestBody: { content }, response: { 200: { description: 'Bytes', content } } }
        app.put('/drop', { schema }, async ({ body }, reply) =>
          reply.type('application/octet-stream').send(Buffer.from(String(body))),
        )
      })
    },
  })
  const node = await createTestNode({ plugins: [drop] })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const document = await read(user)
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  t.ok(valid, JSON.stringify(errors))
  const put = document.paths['/drop']?.put
  const content = {
    'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
    'text/csv': { schema: { type: 'string' } },
  }
  t.match(put, {
    requestBody: { required: true, content },
    responses: { 200: { description: 'Bytes', content } },
  })
  const answer = await user.fetch('/drop', { method: 'PUT', body: new Uint8Array([0, 255]) })
  t.same([answer.status, await answer.text()], [200, 'parsed'])
})

test('a route without a description of its answer has one that no client takes for an error', async (t) => {
  const node = await createTestNode({ plugins: [notes] })
  t.teardown(() => node.stop())
  const { paths } = await read(await node.signIn())
  t.match(paths['/notes']?.get?.responses[200], { description: /does not describe/ })
  t.same(Object.keys(paths['/notes/{id}']?.post?.responses ?? {}), ['201', 'default'])
})

test('the document has the address at which its reader reaches the node', async (t) => {
  const node = await createTestNode()
  t.teardown(() => node.stop())
  t.same((await read(await node.signIn())).servers, [{ url: node.url.origin }])
  const named = await createTestNode({ config: { server: { publicUrl: 'https://cloud.example' } } })
  t.teardown(() => named.stop())
  t.same((await read(await named.signIn())).servers, [
    { url: named.url.origin },
    { url: 'https://cloud.example' },
  ])
  const { token } = await node.signIn()
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  connection.send(
    rawRequest('GET', '/openapi.json', { host: 'other.test', authorization: `Bearer ${token}` }),
  )
  const answer = await connection.answer()
  t.match(
    JSON.parse(answer.body).servers,
    [{ url: '/' }],
    'a name that is not the node’s own is not repeated',
  )
})

test('only signed-in users can read the document', async (t) => {
  const node = await createTestNode()
  t.teardown(() => node.stop())
  await checkErrorResponse(t, await node.fetch('/openapi.json'), 'UNAUTHORIZED')
})
