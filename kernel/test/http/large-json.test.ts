import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, limitJsonComplexity } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import { test } from 'tap'

const plugin = definePlugin({
  id: 'large',
  setup({ routes }) {
    routes((app) => {
      limitJsonComplexity(app)
      const config = { access: 'public', publicReason: 'It is there for a test.' } as const
      app.post('/large', { config, bodyLimit: 2 ** 25 }, async ({ body }) => ({ again: body }))
    })
  },
})

/** Makes a body long enough to be checked before it is parsed. */
const padding = ' '.repeat(16 * 1024)

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const list = (values: number) => `[${'0,'.repeat(values - 1)}0]`

test('large JSON bodies', async (t) => {
  const node = await createTestNode({ plugins: [plugin] })
  t.teardown(() => node.stop())
  const post = (body: string, type = 'application/json') =>
    fetch(new URL('/large', node.url), { method: 'POST', headers: { 'content-type': type }, body })

  t.test('are refused before parsing if parsing would take long', async (t) => {
    for (const [name, body, status, message] of [
      ['1000 levels', padding + nested(1000), 200],
      ['1001 levels', padding + nested(1001), 400, 'The JSON of the body has more than 1000 levels.'],
      [
        'levels without end',
        '[{"a":'.repeat(2 ** 21),
        400,
        'The JSON of the body has more than 1000 levels.',
      ],
      ['many values', list(500_000), 200],
      ['more', list(500_001), 413, 'The JSON of the body has more than 500000 values.'],
      ['short ones of any form', nested(2000), 200],
      ['a string of brackets', JSON.stringify('[{,:'.repeat(200_000)), 200],
      ['a string of quotes', JSON.stringify('"\\["'.repeat(200_000)), 200],
      ['a string without end', `"${'\\"['.repeat(200_000)}`, 400],
      ['brackets that close too often', padding + ']'.repeat(2000), 400],
    ] as const) {
      const answer = await post(body)
      t.equal(answer.status, status, name)
      if (message !== undefined) t.equal(((await answer.json()) as { message: string }).message, message)
    }
  })

  t.test('are otherwise accepted', async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.json({ stringUnit: 'binary' }), async (json) => {
        fc.pre(!json.includes('__proto__') && !json.includes('constructor'))
        const answer = await post(padding + json)
        t.strictSame(((await answer.json()) as { again: unknown }).again, JSON.parse(json))
      }),
      { numRuns: 100 },
    )
  })

  t.equal((await post('{"a":{"__proto__":1}}')).status, 400)
  t.equal((await post(`${padding}{"__proto__":1}`)).status, 400)
  t.equal((await post(`${padding}{"a":`)).status, 400)
  t.equal((await post(padding, 'text/plain')).status, 415)
})
