import { NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chat, createAiNode } from '../fixtures/ai-node.ts'
import { replying, scripted, text } from '../fixtures/scripted-provider.ts'

const message = 'The AI provider "acme" has no key. The owner of the node must set ai-acme.apiKey.'
const keyless = new NodekeepError('UPSTREAM_ERROR', message, { permanent: true })
const refused = new NodekeepError('UPSTREAM_ERROR', 'The key is wrong.', {
  permanent: true,
  cause: new Error('status 401, invalid_api_key'),
})

t.test('A failure that only the owner can end is one line in the log for each chat', async (t) => {
  const lines: { level: string; msg: string }[] = []
  const gate = Promise.withResolvers<void>()
  const providers = {
    acme: scripted(() => {
      throw keyless
    }),
    late: scripted(async function* () {
      await gate.promise
      yield* []
      throw keyless
    }),
    refusing: scripted(() => {
      throw refused
    }),
    spare: replying('Hello'),
  }
  const node = await createAiNode({
    providers,
    ai: { heartbeatSeconds: 0.01, fallbacks: { 'acme/backed': ['refusing/x', 'spare/x'] } },
    logLevel: 'info',
    onLog: (line) => lines.push(JSON.parse(line)),
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const linesOf = async (body: Readonly<Record<string, unknown>>, status: number) => {
    lines.length = 0
    const answer = await chat(ada, body)
    if (body.provider === 'late') gate.resolve()
    t.equal(answer.status, status)
    await answer.text()
    return lines.filter(({ level }) => level !== 'info')
  }
  const line = { level: 'warn', model: 'large', code: 'UPSTREAM_ERROR', msg: message, err: undefined }

  t.match(await linesOf({}, 502), [{ ...line, provider: 'acme' }])
  t.match(await linesOf({ stream: true }, 502), [{ ...line, provider: 'acme' }])
  t.match(await linesOf({ provider: 'late', stream: true }, 200), [{ ...line, provider: 'late' }])
  t.match(await linesOf({ provider: 'refusing' }, 502), [
    { level: 'warn', provider: 'refusing', msg: 'The key is wrong.', reason: 'status 401, invalid_api_key' },
  ])
  t.match(
    (await linesOf({ model: 'backed' }, 200)).map(({ msg }) => msg),
    [message, 'The key is wrong.'],
    'It is one line also if another model replies.',
  )
})

t.test('A server that fails is one line in the log, and a fault of a provider has its stack', async (t) => {
  const lines: { level: string; msg: string; reason?: string; err?: { stack?: string } }[] = []
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { syscall: 'connect' })
  const cause = new TypeError('fetch failed', { cause: refused })
  const down = new NodekeepError('UPSTREAM_ERROR', 'It is down.', { cause })
  const providers = {
    down: scripted(
      () => {
        throw down
      },
      { models: () => Promise.reject(down) },
    ),
    cut: scripted(function* () {
      yield text('Li')
      throw down
    }),
    faulty: scripted(() => {
      throw new TypeError('x is not a function')
    }),
  }
  const onLog = (line: string) => lines.push(JSON.parse(line))
  const retries = { max: 1, firstDelayMs: 1 }
  const node = await createAiNode({ providers, ai: { retries }, logLevel: 'info', onLog })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const reason = 'fetch failed: connect ECONNREFUSED 127.0.0.1:1'
  const ask = async (body: object) => {
    lines.length = 0
    await (await chat(ada, { ...body })).text()
    return lines.filter(({ reason, err }) => reason !== undefined || err !== undefined)
  }
  t.match(await ask({ provider: 'down' }), [
    { level: 'info', msg: 'An AI provider failed. The node retries.', reason, err: undefined },
    { level: 'warn', msg: 'It is down.', reason, err: undefined },
  ])
  for (const stream of [true, false]) {
    t.match(await ask({ provider: 'cut', stream }), [
      { level: 'warn', msg: 'It is down.', reason, err: undefined },
    ])
  }
  const [retried, failed, ...others] = await ask({ provider: 'faulty' })
  t.match(retried, { level: 'info', err: { stack: /x is not a function/ } })
  t.match(failed, { level: 'error', err: { stack: /x is not a function/ } })
  t.strictSame(others, [])
  lines.length = 0
  await ada.fetch('/api/ai/models')
  const models = lines.filter(({ level }) => level === 'warn')
  t.match(models, [{ msg: 'An AI provider does not list its models. It is down.', reason, err: undefined }])
})
