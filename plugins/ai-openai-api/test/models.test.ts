import { test } from 'tap'
import { clientOf, createApiNode, finish, refusal, replying, text } from './fixtures/openai-api-node.ts'

const hello = [{ role: 'user' as const, content: 'Hello' }]
const having = (...models: string[]) => replying([text('Hi'), finish()], { models: async () => models })

test('all models of all providers are listed, and told one by one', async (t) => {
  const node = await createApiNode({ acme: having('large', 'team/small'), other: having() })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const models = []
  for await (const model of client.models.list()) models.push(model)
  t.strictSame(models, [
    { id: 'acme/large', object: 'model', created: 0, owned_by: 'acme' },
    { id: 'acme/team/small', object: 'model', created: 0, owned_by: 'acme' },
  ])
  t.strictSame(await client.models.retrieve('acme/team/small'), models[1])
  t.match(await refusal(client.models.retrieve('acme/huge')), { status: 404, code: 'NOT_FOUND' })
})

test('a model is found by its provider, and alone where only one has it', async (t) => {
  const acme = having('large', 'meta/small')
  const other = having('large', 'own')
  const node = await createApiNode({ acme, other })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const ask = async (model: string) =>
    (await client.chat.completions.create({ model, messages: hello })).model
  t.equal(await ask('acme/large'), 'acme/large')
  t.equal(await ask('acme/meta/small'), 'acme/meta/small')
  t.equal(await ask('meta/small'), 'acme/meta/small')
  t.equal(await ask('own'), 'other/own')
  t.match(await refusal(ask('large')), { status: 400, message: /"acme\/large", "other\/large"/ })
  t.match(await refusal(ask('nowhere')), { status: 404 })
  for (const odd of ['__proto__', 'constructor/large', 'acme/', '/', 'toString']) {
    t.match(await refusal(ask(odd)), { status: 404 }, odd)
  }
})

test('a default provider is asked for what no list has, and where several do', async (t) => {
  const acme = having('large')
  const other = having('large')
  const node = await createApiNode({ acme, other }, { 'ai-openai-api': { defaultProvider: 'other' } })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  for (const model of ['large', 'unlisted']) await client.chat.completions.create({ model, messages: hello })
  t.strictSame(
    other.asked.map(({ model }) => model),
    ['large', 'unlisted'],
  )
  t.equal(acme.asked.length, 0)
})

test('a model that names its provider waits for no list', async (t) => {
  let asked = 0
  const silent = replying([text('Hi'), finish()], {
    models: () => {
      asked += 1
      return new Promise(() => {})
    },
  })
  const ai = { models: { waitMs: 60_000, timeoutMs: 60_000 } }
  const node = await createApiNode({ silent, acme: having('large') }, { ai })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  for (const model of ['silent/large', 'acme/large']) {
    t.match(await client.chat.completions.create({ model, messages: hello }), { model })
  }
  t.equal(asked, 0)
})
