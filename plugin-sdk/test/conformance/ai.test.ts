import { type AiProvider, type ChatDelta, NodekeepError } from '@nodekeep/plugin-sdk'
import {
  type AiHarness,
  aiConformance,
  ModelHttpServer,
  type ReceivedChat,
} from '@nodekeep/plugin-sdk/conformance/ai'
import { modelServer } from '@nodekeep/plugin-sdk/model-servers'
import { test } from 'tap'
import { timeLimit } from '../../src/conformance/soon.ts'
import { boundFaults } from './fixtures/ai-bound-faults.ts'
import { failureFaults } from './fixtures/ai-failure-faults.ts'
import { replyFaults } from './fixtures/ai-reply-faults.ts'
import { requestFaults } from './fixtures/ai-request-faults.ts'
import { PaperAiProvider } from './fixtures/paper-ai-provider.ts'
import { PaperModelServer } from './fixtures/paper-model-server.ts'
import { runSuite } from './fixtures/suite-run.ts'

function harnessOf(create: (server: PaperModelServer) => PaperAiProvider): AiHarness {
  return {
    async setUp() {
      const server = new PaperModelServer()
      return {
        provider: create(server),
        models: server.models,
        server,
        key: 'paper-key',
        async stopServer() {
          server.down = true
        },
        close: async () => {},
      }
    },
  }
}

/** Runs the tests of the suite whose names match. Returns the number of these tests and of failures. */
async function run(
  name: RegExp,
  create: (server: PaperModelServer) => PaperAiProvider,
): Promise<{ all: number; failed: number }> {
  const outcomes = await runSuite((test) => aiConformance(test, harnessOf(create)), name)
  return { all: outcomes.length, failed: outcomes.filter(({ outcome }) => outcome === 'failed').length }
}

aiConformance(
  test,
  harnessOf((server) => new PaperAiProvider(server)),
)

test('What a provider or its protocol lacks is skipped by name, and never passed', async (t) => {
  const gaps = ['usage', 'toolChoice', 'thoughts', 'seed', 'models', 'redirect', 'content_filter'] as const
  const lacking = { ...harnessOf((server) => new PaperAiProvider(server)) }
  const outcomes = await runSuite((test) =>
    aiConformance(test, { setUp: async () => ({ ...(await lacking.setUp()), wireLacks: gaps }) }),
  )
  const skipped = outcomes.filter(({ outcome }) => outcome === 'skipped')
  for (const gap of gaps) {
    t.ok(
      skipped.some(({ reason }) => reason.includes(`"${gap}"`)),
      gap,
    )
  }
  t.notOk(outcomes.some(({ outcome }) => outcome === 'failed'))

  const unable = await runSuite((test) =>
    aiConformance(
      test,
      harnessOf((server) => Object.assign(new PaperAiProvider(server), { supports: {} })),
    ),
  )
  const names = unable.flatMap(({ name, outcome }) => (outcome === 'skipped' ? [name] : []))
  for (const ability of [/tool/, /images arrive/, /JSON/]) {
    const all = unable.filter(({ name }) => ability.test(name))
    t.ok(all.length > 0 && all.every(({ name }) => names.includes(name)), `${ability}`)
  }
})

test('The suite finds each fault of a provider', async (t) => {
  // If a fault makes a call endless, the suite finds it only at the end of its time limit.
  timeLimit.ms = 1000
  t.teardown(() => {
    timeLimit.ms = 20_000
  })
  await Promise.all(
    [...replyFaults, ...boundFaults, ...requestFaults, ...failureFaults].map(async ([found, fault]) => {
      const { all, failed } = await run(found, (server) => {
        const provider = new PaperAiProvider(server)
        return Object.assign(provider, fault(provider))
      })
      t.ok(failed > 0, `${failed} of ${all} tests that match ${found} found the fault.`)
    }),
  )
})

test('The suite tells the causes of a wrong error', async (t) => {
  const [outcome] = await runSuite(
    (test) =>
      aiConformance(
        test,
        harnessOf((server) => {
          const cause = new TypeError('x is not iterable', { cause: new Error('It is null.') })
          const wrong = new NodekeepError('CONFLICT', 'It does not work now.', { cause })
          return Object.assign(new PaperAiProvider(server), { explain: () => wrong })
        }),
      ),
    /status 400/,
  )
  t.match(
    outcome?.reason,
    'CONFLICT (It does not work now., because of TypeError: x is not iterable, because of Error: It is null.) instead of',
  )
})

test('The suite finds a key in an error, in whatever header the key is sent', async (t) => {
  const line = (value: object) => `${JSON.stringify(value)}\n`
  const server = new ModelHttpServer<ReceivedChat>(
    {
      chat: 'POST /chat',
      list: 'GET /models',
      contentType: 'application/x-ndjson',
      read: (body) => body,
      reply: ({ text }) => [
        ...text.map((text) => line({ type: 'text', text })),
        line({ type: 'finish', reason: 'stop' }),
      ],
      begin: (text) => text.map((text) => line({ type: 'text', text })),
      empty: line({ type: 'text', text: '' }),
      openPiece: '{"',
      failure: line({}),
      garbage: '<',
      error: (status, key) => line({ error: `${status} of the model: ${key}` }),
      models: (names) => line({ names }),
    },
    ['acme-1'],
  )
  t.teardown(() => server.stop())
  /** Runs the tests of keys with a provider that sends the key in these headers. */
  const failedWith = async (headers: Record<string, string>, options: { key?: string }) => {
    const setUp = async () => {
      await server.start()
      const connection = modelServer({
        name: 'acme',
        url: server.url,
        setting: 'ai-acme.url',
        headers,
        ...options,
      })
      const provider: AiProvider = {
        models: async () => server.models.slice(),
        chat: (body, signal) =>
          connection.reply(body, signal, async function* (signal) {
            const { model } = body
            for await (const delta of connection.lines<ChatDelta>('/chat', { body, model, signal }))
              yield delta
          }),
      }
      const { models } = server
      const stopServer = () => server.stop()
      return { provider, models, server, key: 'acme-key-1', stopServer, close: async () => {} }
    }
    const failed: string[] = []
    // They share a server, so they run one after the other.
    for (const name of [/status 400/, /the key arrives/]) {
      const outcomes = await runSuite((test) => aiConformance(test, { setUp }), name)
      failed.push(...outcomes.flatMap(({ outcome, reason }) => (outcome === 'failed' ? [reason] : [])))
    }
    return failed.join('\n')
  }
  const key = 'acme-key-1'
  for (const headers of [
    { 'x-acme-key': key },
    { authorization: `Bearer ${key}` },
    { cookie: `a=b; key=${key}` },
  ]) {
    t.equal(await failedWith(headers, { key }), '')
    t.match(await failedWith(headers, {}), /no error message contains the key/)
  }
  t.match(await failedWith({}, { key }), /the server gets the key/)
})
