import { test } from 'tap'
import { clientOf, createApiNode, finish, refusal, replying, text } from './fixtures/openai-api-node.ts'

const hello = [{ role: 'user' as const, content: 'Hello' }]
const having = (...models: string[]) => replying([text('Hi'), finish()], { models: async () => models })

test('All models of all providers are listed and can be read one by one', async (t) => {
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
  t.match(await refusal(client.models.retrieve('acme/huge')), { status: 404, code: 'model_not_found' })
})

test('A model is found with its provider, or by its name alone if only one provider has it', async (t) => {
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

test('The default provider gets models that no list has or several lists have', async (t) => {
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

test('A fallback replies instead of a provider that is not loaded, not the default provider', async (t) => {
  const [local, other] = [having('llama'), having('gone/x')]
  const config = {
    ai: { fallbacks: { 'gone/x': ['local/llama'], 'lost/y': ['gone/x'] } },
    'ai-openai-api': { defaultProvider: 'other' },
  }
  const node = await createApiNode({ local, other }, config)
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const ask = (model: string) => client.chat.completions.create({ model, messages: hello })
  t.equal((await ask('gone/x')).model, 'local/llama')
  for (const model of ['gone/y', 'lost/y']) {
    t.match(
      await refusal(ask(model)),
      { status: 404, message: /no AI provider.*These are loaded: local, other\./ },
      model,
    )
  }
  t.equal(other.asked.length, 0)
  const listed = (await client.models.list()).data.map(({ id }) => id)
  t.strictSame(listed, ['local/llama', 'other/gone/x'], 'A model without a provider is not listed.')
})

test('A model with the longest name is listed and replies', async (t) => {
  const [provider, model] = ['p'.repeat(256), 'm'.repeat(512)]
  const acme = having(model)
  const node = await createApiNode({ [provider]: acme })
  t.teardown(() => node.stop())
  const client = clientOf(node, await node.signIn())
  const id = `${provider}/${model}`
  t.match((await client.models.list()).data, [{ id }])
  t.equal((await client.models.retrieve(id)).id, id)
  t.equal((await client.chat.completions.create({ model: id, messages: hello })).model, id)
  t.equal(acme.asked[0]?.model, model)
})

test('A model that names its provider waits for no list', async (t) => {
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
