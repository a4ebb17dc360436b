import t from 'tap'
import { chat, createAiNode } from '../fixtures/ai-node.ts'
import { scripted, stop, text, untilAborted, usage } from '../fixtures/scripted-provider.ts'

/** A provider whose chats run until the test lets them end. */
function gatedProvider() {
  const gate = Promise.withResolvers<void>()
  const provider = scripted(async function* (_request, signal) {
    yield text('a')
    await Promise.race([gate.promise, untilAborted(signal)])
    yield stop
  })
  return { provider, open: () => gate.resolve() }
}

async function refusal(answer: Response) {
  const { code, message } = (await answer.json()) as { code: string; message: string }
  return { status: answer.status, code, message, retryAfter: Number(answer.headers.get('retry-after')) }
}

t.test('The chats at a time of one user and of all users have limits', async (t) => {
  const { provider, open } = gatedProvider()
  const node = await createAiNode({
    providers: { acme: provider },
    ai: { limits: { chatsPerUser: 2, chats: 3 } },
  })
  t.teardown(() => node.stop())
  const [ada, bob, eve] = [await node.signIn(), await node.signIn(), await node.signIn()]
  const running = [await chat(ada, { stream: true }), await chat(ada, { stream: true })]
  for (const stream of [true, false]) {
    t.match(await refusal(await chat(ada, { stream })), {
      status: 429,
      code: 'TOO_MANY_REQUESTS',
      message: /^You have 2 chats running/,
      retryAfter: 5,
    })
  }
  running.push(await chat(bob, { stream: true }))
  t.match(await refusal(await chat(eve)), { status: 429, message: /^The node has too many/, retryAfter: 5 })
  t.equal(provider.calls.length, 3)

  await running[0]?.body?.cancel()
  while (!provider.calls[0]?.signal.aborted) await eve.fetch('/api/ai/usage')
  running[0] = await chat(eve, { stream: true })
  t.equal(running[0].status, 200, 'A chat that its client closes frees its slot.')
  open()
  for (const answer of running) t.match(await answer.text(), /\[DONE]/)
  t.equal((await chat(ada)).status, 200, 'A chat that ends frees its slot.')
})

t.test('A chat that fails frees its slot', async (t) => {
  const failing = scripted(async function* (_request, _signal, turn) {
    if (turn % 2 === 0) throw new Error('at once')
    yield text('a')
    throw new Error('later')
  })
  const node = await createAiNode({
    providers: { acme: failing },
    ai: { limits: { chatsPerUser: 1, chats: 1 }, retries: { max: 0 } },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (let n = 0; n < 6; n += 1) {
    const answer = await chat(ada, { stream: n < 3 })
    t.not(answer.status, 429)
    await answer.text()
  }
})

t.test('The chats of each user within a minute have a limit', async (t) => {
  const acme = scripted(() => [stop])
  const node = await createAiNode({ providers: { acme }, ai: { limits: { requestsPerMinute: 3 } } })
  t.teardown(() => node.stop())
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  t.equal((await chat(ada, { provider: 'unknown' })).status, 404)
  t.equal((await chat(ada, { messages: [] })).status, 400)
  for (let n = 0; n < 3; n += 1) t.equal((await chat(ada)).status, 200)
  const refused = await refusal(await chat(ada))
  t.match(refused, {
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    message: /^You have begun 3 chats within a minute/,
  })
  t.ok(refused.retryAfter > 50 && refused.retryAfter <= 60, `${refused.retryAfter} s`)
  t.equal((await chat(bob)).status, 200)
  t.equal(acme.calls.length, 4)
})

t.test('The tokens of each user in a day have a limit, including running chats', async (t) => {
  const { provider, open } = gatedProvider()
  const acme = scripted(() => [usage(40, 60), stop])
  const node = await createAiNode({
    providers: { acme, gated: provider },
    ai: { limits: { tokensPerDay: 250 } },
  })
  t.teardown(() => node.stop())
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  t.equal((await chat(ada)).status, 200)
  const running = await chat(ada, {
    provider: 'gated',
    stream: true,
    messages: [{ role: 'user', content: 'x'.repeat(4 * 150) }],
  })
  const refused = await refusal(await chat(ada))
  t.match(refused, {
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    message: /^You have used your 250 tokens of today/,
  })
  const midnight = new Date().setUTCHours(24, 0, 0, 0)
  t.ok(
    Math.abs(refused.retryAfter - (midnight - Date.now()) / 1000) < 30,
    'The client must wait until midnight in UTC.',
  )
  t.equal((await chat(bob)).status, 200)
  open()
  await running.text()
  t.equal((await chat(ada)).status, 429)
})
