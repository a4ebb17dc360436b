import { NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chat, createAiNode } from '../fixtures/ai-node.ts'
import { replying, scripted } from '../fixtures/scripted-provider.ts'

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

t.test('A temporary failure is logged as an error with its details', async (t) => {
  const lines: { level: string; err?: { stack?: string } }[] = []
  const providers = {
    acme: scripted(() => {
      throw new NodekeepError('UPSTREAM_ERROR', 'Down.', { cause: new Error('ECONNREFUSED') })
    }),
  }
  const onLog = (line: string) => lines.push(JSON.parse(line))
  const node = await createAiNode({ providers, ai: { retries: { max: 0 } }, logLevel: 'warn', onLog })
  t.teardown(() => node.stop())
  t.equal((await chat(await node.signIn())).status, 502)
  t.match(lines, [{ level: 'error', err: { stack: /ECONNREFUSED/ } }])
})
