import { NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chat, createAiNode } from '../fixtures/ai-node.ts'
import { scripted, stop, text, usage } from '../fixtures/scripted-provider.ts'

t.test('A reply without streaming is one answer', async (t) => {
  const acme = scripted(() => [
    text('Hel'),
    usage(3, 1),
    text('lo'),
    usage(3, 2),
    { ...stop, reason: 'length' },
  ])
  const node = await createAiNode({ providers: { acme, silent: scripted(() => [stop]) } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const body of [{ stream: false }, {}]) {
    const answer = await chat(ada, { ...body, maxTokens: 5, temperature: 0.5, stop: ['.'] })
    t.equal(answer.status, 200)
    t.strictSame(await answer.json(), {
      message: { role: 'assistant', content: 'Hello' },
      provider: 'acme',
      model: 'large',
      finishReason: 'length',
      usage: { inputTokens: 3, outputTokens: 2 },
    })
    t.strictSame(acme.last.request, {
      model: 'large',
      messages: [{ role: 'user', content: 'Hello' }],
      maxTokens: 5,
      temperature: 0.5,
      stop: ['.'],
    })
  }
  t.strictSame(await (await chat(ada, { provider: 'silent' })).json(), {
    message: { role: 'assistant', content: '' },
    provider: 'silent',
    model: 'large',
    finishReason: 'stop',
    usage: null,
  })
})

t.test('A conversation reaches the provider unchanged', async (t) => {
  const acme = scripted(() => [text('ok'), stop])
  const node = await createAiNode({ providers: { acme } })
  t.teardown(() => node.stop())
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Who are you?' },
    { role: 'assistant', content: '' },
    { role: 'user', content: '\u0000 \n <b>&amp;</b> 😀 \ud83d' },
  ]
  t.equal((await chat(await node.signIn(), { messages })).status, 200)
  t.strictSame(acme.last.request, { model: 'large', messages })
})

t.test('Texts and images of a message reach a provider that supports them', async (t) => {
  const acme = scripted(() => [text('ok'), stop], { supports: { images: true } })
  const node = await createAiNode({ providers: { acme } })
  t.teardown(() => node.stop())
  const messages = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image', url: 'data:image/png;base64,AAAA' },
      ],
    },
    { role: 'assistant', content: 'A plum.' },
    { role: 'user', content: 'Sure?' },
  ]
  t.equal((await chat(await node.signIn(), { messages })).status, 200)
  t.strictSame(acme.last.request, { model: 'large', messages })
})

t.test('The error of an unknown provider or model lists the known ones', async (t) => {
  const refuse = () => {
    throw new NodekeepError('NOT_FOUND', 'No such model.', { permanent: true })
  }
  const mute = scripted(refuse, { models: () => Promise.reject(new Error('down')) })
  const node = await createAiNode({ providers: { acme: scripted(refuse), mute } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const answered = async (body: object) => {
    const answer = await chat(ada, { ...body })
    return { status: answer.status, ...((await answer.json()) as object) }
  }
  for (const stream of [false, true]) {
    t.strictSame(await answered({ stream, provider: 'emca' }), {
      status: 404,
      error: true,
      message: 'There is no AI provider "emca". These are loaded: acme, mute.',
      code: 'NOT_FOUND',
    })
    t.strictSame(await answered({ stream, model: 'huge' }), {
      status: 404,
      error: true,
      message: 'The AI provider "acme" does not have the model "huge". It has: large, small.',
      code: 'NOT_FOUND',
    })
    t.match(await answered({ stream, provider: 'mute' }), {
      status: 404,
      message: 'The AI provider "mute" does not have the model "large". Its models are not known now.',
    })
  }
})

t.test('A node without providers names the reason in its error', async (t) => {
  const node = await createAiNode()
  t.teardown(() => node.stop())
  const answer = await chat(await node.signIn())
  t.equal(answer.status, 404)
  t.match(await answer.json(), { message: 'There is no AI provider "acme". No AI provider is loaded.' })
})
