import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

const note = {
  $id: 'Note',
  type: 'object',
  required: ['count'],
  properties: { count: { type: 'integer' }, done: { type: 'boolean', default: false } },
  additionalProperties: false,
}
const access = { access: 'public', publicReason: 'The tests ask.' } as const

/** A plugin whose route schemas refer to an added schema, from the same scope and from a nested one. */
const notes = definePlugin({
  id: 'notes',
  setup({ routes }) {
    routes((app) => {
      app.addSchema(note)
      const refers = { $ref: 'Note#' }
      const list = { type: 'array', items: refers }
      app.post('/notes', { config: access, schema: { body: refers } }, async ({ body }) => ({ body }))
      app.post('/lists', { config: access, schema: { body: list } }, async ({ body }) => ({ body }))
      app.get('/notes', { config: access, schema: { querystring: refers } }, async ({ query }) => ({ query }))
      app.register(async (inner) => {
        inner.addSchema({
          $id: 'Named',
          type: 'object',
          properties: { note: refers, name: { type: 'string' } },
        })
        const body = { $ref: 'Named#' }
        inner.post('/named', { config: access, schema: { body } }, async ({ body }) => ({ body }))
      })
    })
  },
})

test('a schema that refers to a shared one takes bodies literally', async (t) => {
  const node = await createTestNode({ plugins: [notes] })
  t.teardown(() => node.stop())
  const post = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await node.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: answer.status, ...((await answer.json()) as object) }
  }
  const whole = { count: 1, done: false }
  t.match(await post('/notes', { count: 1 }), { status: 200, body: whole }, 'defaults are applied')
  t.match(await post('/lists', [{ count: 1 }]), { status: 200, body: [whole] })
  t.match(await post('/named', { note: { count: 1 }, name: 'a' }), { status: 200, body: { note: whole } })

  const refused = { status: 400, code: 'VALIDATION_ERROR' }
  for (const wrong of [{ count: '1' }, { count: 1, done: 'true' }, { count: 1, done: 0 }, { count: null }]) {
    const name = JSON.stringify(wrong)
    t.match(await post('/notes', wrong), refused, name)
    t.match(await post('/lists', [wrong]), refused, `${name} in a list`)
    t.match(await post('/named', { note: wrong }), refused, `${name} in a schema that refers further`)
  }
  t.match(await post('/notes', [{ count: 1 }]), refused, 'a list is not a single value')
  t.match(await post('/lists', { count: 1 }), refused, 'a single value is not a list')
  t.match(await post('/named', { name: 7 }), refused, 'a number is not a text')
  t.match(
    await post('/notes', { count: 1, extra: 2 }),
    {
      ...refused,
      message: 'Invalid input: "extra" in the body is not a known key. Known here: count, done.',
    },
    'an unknown key is refused, not removed',
  )
})

test('a shared schema converts the texts of a query', async (t) => {
  const node = await createTestNode({ plugins: [notes] })
  t.teardown(() => node.stop())
  const answer = await node.fetch('/notes?count=7&done=true')
  t.strictSame(await answer.json(), { query: { count: 7, done: true } })
  t.equal((await node.fetch('/notes?count=seven')).status, 400)
})

test('a response schema that refers to a shared one means that of its own plugin', async (t) => {
  const response = { 200: { $ref: 'Shown#' } }
  const showing = (id: string, key: string) =>
    definePlugin({
      id,
      setup({ routes }) {
        routes((app) => {
          app.addSchema({ $id: 'Shown', type: 'object', properties: { [key]: { type: 'integer' } } })
          app.get(`/${id}`, { config: access, schema: { response } }, async () => ({ a: 1, b: 2 }) as never)
        })
      },
    })
  const node = await createTestNode({ plugins: [showing('one', 'a'), showing('two', 'b')] })
  t.teardown(() => node.stop())
  t.strictSame(await (await node.fetch('/one')).json(), { a: 1 })
  t.strictSame(await (await node.fetch('/two')).json(), { b: 2 })
  t.equal((await node.fetch('/two', { method: 'HEAD' })).status, 200)
})

test('a response schema that a plugin has changed is the one that counts', async (t) => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } } as Record<string, object> }
  const plugin = definePlugin({
    id: 'growing',
    setup({ routes }) {
      routes((app) => {
        app.get(
          '/growing',
          { config: access, schema: { response: { 200: schema } } },
          async () => ({ a: 1, b: 2 }) as never,
        )
      })
    },
  })
  for (const expected of [{ a: 1 }, { a: 1, b: 2 }]) {
    const node = await createTestNode({ plugins: [plugin] })
    t.strictSame(await (await node.fetch('/growing')).json(), expected)
    await node.stop()
    schema.properties.b = { type: 'integer' }
  }
})

test('a request schema that a plugin has changed is the one that counts, for bodies and queries alike', async (t) => {
  const schema = { type: 'object', required: ['a'], properties: { a: { type: 'integer', maximum: 5 } } }
  const plugin = definePlugin({
    id: 'growing',
    setup({ routes }) {
      routes((app) => {
        app.post('/growing', { config: access, schema: { body: schema } }, async ({ body }) => ({ body }))
        app.get('/growing', { config: access, schema: { querystring: schema } }, async ({ query }) => ({
          query,
        }))
      })
    },
  })
  for (const maximum of [5, 7]) {
    schema.properties.a.maximum = maximum
    const node = await createTestNode({ plugins: [plugin] })
    t.teardown(() => node.stop())
    const headers = { 'content-type': 'application/json' }
    const post = async (a: unknown) =>
      (await node.fetch('/growing', { method: 'POST', headers, body: JSON.stringify({ a }) })).status
    for (const a of [maximum, maximum + 1]) {
      const status = a > maximum ? 400 : 200
      t.equal(await post(a), status)
      t.equal((await node.fetch(`/growing?a=${a}`)).status, status)
    }
    t.equal(await post(`${maximum}`), 400, 'a body is taken literally')
  }
})
