import { NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chat, createAiNode, providing, usageOf } from '../fixtures/ai-node.ts'
import { type Script, scripted, stop, text } from '../fixtures/scripted-provider.ts'

const fails =
  (error: unknown): Script =>
  () => {
    throw error
  }
const replies: Script = ({ model }) => [text(`I am ${model}`), stop]
const down = new NodekeepError('UPSTREAM_ERROR', 'Down.')

t.test('A configured model replies instead of a model that fails', async (t) => {
  const [acme, spare, local] = [scripted(fails(down)), scripted(fails(down)), scripted(replies)]
  const fallbacks = {
    'acme/large': ['absent/model', 'spare/family/model', 'local/llama', 'local/second'],
    'acme/small': ['spare/x'],
  }
  const node = await createAiNode({
    providers: { acme, spare, local },
    ai: { fallbacks, retries: { max: 1 } },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.match(await (await chat(ada)).json(), {
    message: { content: 'I am llama' },
    provider: 'local',
    model: 'llama',
  })
  t.equal(acme.calls.length, 2)
  t.equal(spare.calls.length, 2)
  t.equal(spare.last.request.model, 'family/model')
  t.equal(local.calls.length, 1)

  const none = await chat(ada, { model: 'small' })
  t.equal(none.status, 502, 'If all models fail, the client gets the failure of the requested one.')
  t.match(await none.json(), { message: 'Down.' })
  t.equal((await chat(ada, { model: 'other' })).status, 502)
  t.equal(local.calls.length, 1)
  t.strictSame(
    (await usageOf(ada)).map(({ provider, model, requests, failed }) => ({
      provider,
      model,
      requests,
      failed,
    })),
    [
      { provider: 'acme', model: 'other', requests: 1, failed: 1 },
      { provider: 'acme', model: 'small', requests: 1, failed: 1 },
      { provider: 'local', model: 'llama', requests: 1, failed: 0 },
    ],
    'Usage counts for the model that replied, or else for the requested one.',
  )
})

t.test('A refused key leads to a fallback, a refused request does not', async (t) => {
  const errors: Record<string, unknown> = {
    key: new NodekeepError('UPSTREAM_ERROR', 'Key.', { permanent: true }),
    rateLimit: new NodekeepError('TOO_MANY_REQUESTS', 'Wait.', { headers: { 'retry-after': '3600' } }),
    model: new NodekeepError('NOT_FOUND', 'Model.'),
    request: new NodekeepError('VALIDATION_ERROR', 'Request.'),
  }
  const acme = scripted(({ model }) => fails(errors[model])({ model, messages: [] }, AbortSignal.abort(), 0))
  const local = scripted(replies)
  const fallbacks = Object.fromEntries(Object.keys(errors).map((model) => [`acme/${model}`, ['local/llama']]))
  const node = await createAiNode({ providers: { acme, local }, ai: { fallbacks } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const statuses = { key: 200, rateLimit: 200, model: 404, request: 400 }
  for (const [model, status] of Object.entries(statuses))
    t.equal((await chat(ada, { model })).status, status, model)
  t.equal(acme.calls.length, 4)
})

t.test('A fallback replies if the plugin of the requested provider is not loaded', async (t) => {
  const local = scripted(replies)
  const fallbacks = { 'gone/x': ['absent/model', 'local/llama'], 'gone/y': ['absent/model'] }
  const node = await createAiNode({ providers: { local }, ai: { fallbacks } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.match(await (await chat(ada, { provider: 'gone', model: 'x' })).json(), {
    message: { content: 'I am llama' },
    provider: 'local',
    model: 'llama',
  })
  for (const model of ['y', 'z']) {
    const none = await chat(ada, { provider: 'gone', model })
    t.equal(none.status, 404)
    t.match(await none.json(), { message: 'There is no AI provider "gone". These are loaded: local.' })
  }
})

t.test('Without the requested provider, fallbacks that fail are skipped and not named', async (t) => {
  const errors = [
    new NodekeepError('NOT_FOUND', 'No such model.'),
    new NodekeepError('VALIDATION_ERROR', 'Too long.'),
    new NodekeepError('UPSTREAM_ERROR', 'Down.', { permanent: true }),
  ]
  const failing = scripted((_request, _signal, turn) => {
    throw errors[turn % errors.length]
  })
  const local = scripted(replies)
  const wrong = ['failing/a', 'failing/b', 'failing/c']
  const fallbacks = { 'gone/x': [...wrong, 'local/llama'], 'gone/y': wrong }
  const node = await createAiNode({ providers: { failing, local }, ai: { fallbacks } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.match(await (await chat(ada, { provider: 'gone', model: 'x' })).json(), {
    message: { content: 'I am llama' },
  })
  t.equal(failing.calls.length, 3)
  const none = await chat(ada, { provider: 'gone', model: 'y' })
  t.equal(failing.calls.length, 6)
  t.equal(none.status, 404)
  t.match(await none.json(), {
    message: 'There is no AI provider "gone". These are loaded: failing, local.',
  })
  t.match(await usageOf(ada), [
    { provider: 'gone', model: 'y', failed: 1, inputTokens: 0 },
    { provider: 'local', model: 'llama', failed: 0 },
  ])
})

t.test('A fallback that is disabled before its turn is skipped', async (t) => {
  const [called, removed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const acme = scripted(async function* () {
    called.resolve()
    await removed.promise
    yield* []
    throw down
  })
  const [spare, local] = [scripted(replies), scripted(replies)]
  const node = await createAiNode({
    providers: { acme, local },
    plugins: [providing({ spare }, 'going')],
    config: { plugins: { going: { required: false } } },
    ai: { fallbacks: { 'acme/large': ['spare/x', 'local/llama'] }, retries: { max: 0 } },
  })
  t.teardown(() => node.stop())
  const [ada, owner] = [await node.signIn(), await node.signIn('owner')]
  const answer = chat(ada)
  await called.promise
  await owner.fetch('/api/system/plugins/going/disable', { method: 'POST' })
  removed.resolve()
  t.match(await (await answer).json(), { message: { content: 'I am llama' }, provider: 'local' })
  t.equal(spare.calls.length, 0)
})

t.test('A misspelled fallback stops the start of the node', async (t) => {
  for (const fallbacks of [
    { acme: ['local/llama'] },
    { 'acme/large': ['llama'] },
    { 'acme/': ['local/llama'] },
  ]) {
    await t.rejects(createAiNode({ ai: { fallbacks } }), { message: /in ai\.fallbacks names no model/ })
  }
})

t.test('The node logs at its start the configured models without a loaded provider', async (t) => {
  const fallbacks = { 'acme/large': ['absent/family/model', 'acme/small'], 'gone/x': ['acme/large'] }
  const lines: string[] = []
  const onLog = (line: string) => lines.push(line)
  const providers = { acme: scripted(replies) }
  const node = await createAiNode({ providers, ai: { fallbacks }, logLevel: 'warn', onLog })
  t.teardown(() => node.stop())
  t.match(
    lines
      .map((line) => JSON.parse(line))
      .map(({ msg }) => msg)
      .sort(),
    [
      /^ai\.fallbacks\["acme\/large"] names "absent\/family\/model", .*AI provider "absent" is not loaded.*Load its plugin/,
      /^ai\.fallbacks\["gone\/x"] is for the AI provider "gone", which is not loaded, so only its fallbacks reply/,
    ],
  )
  t.equal(lines.length, 2)
  t.equal((await chat(await node.signIn())).status, 200)
})
