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

/** Routes whose schemas refer to one that was added, from the scope where that was done and from one within. */
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

test('bodies are taken literally where a schema refers to a shared one', async (t) => {
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
  t.match(await post('/notes', [{ count: 1 }]), refused, 'a list is no single value')
  t.match(await post('/lists', { count: 1 }), refused, 'a single value is no list')
  t.match(await post('/named', { name: 7 }), refused, 'a number is no text')
  t.match(
    await post('/notes', { count: 1, extra: 2 }),
    {
      ...refused,
      message: 'Invalid input: "extra" in the body is not a known key. Known here: count, done.',
    },
    'what is unknown is refused, and not removed',
  )
})

test('queries are texts by nature, also by a shared schema', async (t) => {
  const node = await createTestNode({ plugins: [notes] })
  t.teardown(() => node.stop())
  const answer = await node.fetch('/notes?count=7&done=true')
  t.strictSame(await answer.json(), { query: { count: 7, done: true } })
  t.equal((await node.fetch('/notes?count=seven')).status, 400)
})
