import { type AiHarness, aiConformance } from '@nodekeep/plugin-sdk/conformance/ai'
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
