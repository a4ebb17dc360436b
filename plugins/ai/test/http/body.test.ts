import t from 'tap'
import { chat, chatBody, createAiNode } from '../fixtures/ai-node.ts'
import { replying } from '../fixtures/scripted-provider.ts'

t.test('An invalid chat request is refused and reaches no provider', async (t) => {
  const acme = replying('x')
  const node = await createAiNode({ providers: { acme }, ai: { maxBodyBytes: 100_000 } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const hello = { role: 'user', content: 'Hello' }
  const wrong: [body: Record<string, unknown>, message: string][] = [
    [{ messages: undefined }, '"messages" in the body is missing'],
    [{ messages: null }, '"messages" in the body must be an array'],
    [{ messages: 'Hello' }, '"messages" in the body must be an array'],
    [{ messages: {} }, '"messages" in the body must be an array'],
    [{ messages: hello }, '"messages" in the body must be an array'],
    [{ messages: [] }, '"messages" in the body must not be empty'],
    [{ messages: ['Hello'] }, '"messages.0" in the body must be an object'],
    [{ messages: [null] }, '"messages.0" in the body must be an object'],
    [{ messages: [[]] }, '"messages.0" in the body must be an object'],
    [{ messages: [{}] }, '"messages.0.role" in the body is missing'],
    [{ messages: [hello, { role: 'user' }] }, '"messages.1.content" in the body is missing'],
    [{ messages: [{ content: 'x' }] }, '"messages.0.role" in the body is missing'],
    [{ messages: [{ ...hello, role: 'tool' }] }, '"messages.0.role" in the body must be one of'],
    [{ messages: [{ ...hello, role: 1 }] }, '"messages.0.role" in the body must be a string'],
    [{ messages: [{ ...hello, role: null }] }, '"messages.0.role" in the body must be a string'],
    [{ messages: [{ ...hello, content: null }] }, '"messages.0.content" in the body must be a string'],
    [{ messages: [{ ...hello, content: 7 }] }, '"messages.0.content" in the body must be a string'],
    [
      { messages: [{ role: 'assistant', content: [{ type: 'text', text: 'x' }] }] },
      '"messages.0.content" in the body must be a string, because the message is of the model.',
    ],
    [{ messages: [{ ...hello, content: [] }] }, '"messages.0.content" in the body must not be empty'],
    [
      { messages: [{ ...hello, content: Array(101).fill({ type: 'text', text: 'x' }) }] },
      '"messages.0.content" in the body must have at most 100 items',
    ],
    [{ messages: [{ ...hello, content: [{ type: 'sound', url: 'data:,' }] }] }, '"messages.0.content'],
    [
      { messages: [{ ...hello, content: [{ type: 'image', url: 'http://10.0.0.1/x.png' }] }] },
      'Send images as "data:" URLs',
    ],
    [
      { messages: [{ ...hello, content: [{ type: 'image', url: 'data:image/png;base64,AAAA' }] }] },
      'does not support images',
    ],
    [{ messages: [{ ...hello, content: { toString: 'x' } }] }, '"messages.0.content" in the body'],
    [{ messages: [{ ...hello, name: 'Ada' }] }, '"messages.0.name" in the body is not a known key'],
    [{ provider: undefined }, '"provider" in the body is missing'],
    [{ provider: '' }, '"provider" in the body must not be empty'],
    [{ provider: ['acme'] }, '"provider" in the body must be a string'],
    [{ provider: 'x'.repeat(257) }, '"provider" in the body must have at most 256 characters'],
    [{ model: undefined }, '"model" in the body is missing'],
    [{ model: 5 }, '"model" in the body must be a string'],
    [{ model: 'x'.repeat(513) }, '"model" in the body must have at most 512 characters'],
    [{ stream: 'true' }, '"stream" in the body must be true or false'],
    [{ maxTokens: 0 }, '"maxTokens" in the body must be between 1 and 2147483647'],
    [{ maxTokens: 1.5 }, '"maxTokens" in the body must be a whole number'],
    [{ maxTokens: '5' }, '"maxTokens" in the body must be a whole number'],
    [{ temperature: -0.1 }, '"temperature" in the body must be between 0 and 2'],
    [{ temperature: 2.1 }, '"temperature" in the body must be between 0 and 2'],
    [{ stop: '.' }, '"stop" in the body must be an array'],
    [{ stop: [''] }, '"stop.0" in the body must not be empty'],
    [{ stop: Array(17).fill('x') }, '"stop" in the body must have at most 16 items'],
    [{ baseURL: 'http://10.0.0.1' }, '"baseURL" in the body is not a known key'],
    [{ tools: [] }, '"tools" in the body is not a known key'],
    [{ max_tokens: 5 }, '"max_tokens" in the body is not a known key'],
  ]
  for (const stream of [false, true]) {
    for (const [body, message] of wrong) {
      const answer = await chat(ada, { stream, ...body })
      t.equal(answer.status, 400, message)
      const error = (await answer.json()) as { message: string; code: string }
      t.equal(error.code, 'VALIDATION_ERROR')
      t.ok(error.message.includes(message), `The message must name ${message}: ${error.message}`)
    }
  }
  for (const body of ['', '[]', 'null', '"x"', '{', '{"messages":[}', '1']) {
    const answer = await chat(ada, {}, { body })
    t.equal(answer.status, 400, body)
    t.match(await answer.json(), { error: true, code: 'VALIDATION_ERROR' })
  }
  const large = await chat(ada, { messages: [{ role: 'user', content: 'x'.repeat(100_000) }] })
  t.equal(large.status, 413)
  t.match(await large.json(), { error: true, code: 'PAYLOAD_TOO_LARGE' })
  const form = await chat(ada, {}, { headers: { 'content-type': 'application/x-www-form-urlencoded' } })
  t.equal(form.status, 415)
  t.equal(acme.calls.length, 0)
})

t.test('JSON that would take long to parse is refused before it is parsed', async (t) => {
  const acme = replying('x')
  const node = await createAiNode({ providers: { acme } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const deep = await chat(ada, {}, { body: `{"messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}` })
  t.equal(deep.status, 400)
  t.match(await deep.json(), { code: 'VALIDATION_ERROR', message: /JSON of the body.*1000 levels/ })
  const many = await chat(ada, {}, { body: `{"messages":[${'0,'.repeat(500_000)}0]}` })
  t.equal(many.status, 413)
  t.match(await many.json(), { code: 'PAYLOAD_TOO_LARGE', message: /JSON of the body.*500000 values/ })
  t.equal(acme.calls.length, 0)
})

t.test('Special names such as "__proto__", paths and URLs are unknown providers', async (t) => {
  const acme = replying('x')
  const node = await createAiNode({ providers: { acme } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const provider of [
    '__proto__',
    'constructor',
    'http://127.0.0.1:1',
    '../acme',
    'acme/large',
    'ACME',
  ]) {
    const answer = await chat(ada, { provider })
    t.equal(answer.status, 404, provider)
  }
  t.equal(acme.calls.length, 0)
  const body = JSON.stringify(chatBody()).replace('{', '{"__proto__":{"provider":"other"},')
  t.equal((await chat(ada, {}, { body })).status, 400)
})

t.test('A prompt of the default maximum size arrives whole', async (t) => {
  const acme = replying('x')
  const node = await createAiNode({ providers: { acme } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const content = 'é'.repeat(5 * 1024 * 1024 - 100)
  t.equal((await chat(ada, { messages: [{ role: 'user', content }] })).status, 200)
  t.equal(acme.last.request.messages[0]?.content, content)
  t.equal((await chat(ada, { messages: [{ role: 'user', content: `${content}${content}` }] })).status, 413)
})
