import {
  type LoginHarness,
  type LoginSubject,
  loginConformance,
} from '@nodekeep/plugin-sdk/conformance/login'
import { test } from 'tap'
import { timeLimit } from '../../src/conformance/soon.ts'
import { loginMutants } from './fixtures/login-mutants.ts'
import {
  lifetime,
  PaperLoginProvider,
  proofOf,
  uuid,
  address as wallet,
} from './fixtures/paper-login-provider.ts'
import { runSuite } from './fixtures/suite-run.ts'

loginConformance(test, harnessOf())

test('The suite never takes the origin of the harness for another one', async (t) => {
  for (const origin of [
    'https://node.example',
    'https://other.example',
    'http://127.0.0.1:1',
    'https://[::1]:2',
  ]) {
    const outcomes = await runSuite((test) => loginConformance(test, harnessOf({ origin })))
    t.strictSame(
      outcomes.filter(({ outcome }) => outcome !== 'passed'),
      [],
    )
  }
})

test('Tests for abilities that a provider does not have are skipped by name', async (t) => {
  const { setUp } = harnessOf()
  const without = async (): Promise<LoginSubject> => {
    const { provider, origin, credentials, close } = await setUp()
    return { provider, origin, credentials, expire: null, singleUse: null, close }
  }
  const outcomes = await runSuite((test) => loginConformance(test, { boundToOrigin: false, setUp: without }))
  t.strictSame(
    outcomes.filter(({ outcome }) => outcome !== 'passed').map(({ outcome, name }) => `${outcome}: ${name}`),
    [
      'skipped: a proof for another origin is refused',
      'skipped: a proof that is too old is refused',
      'skipped: a stalled check ends when the sign-in is aborted',
      'skipped: a server that is down is told from a wrong proof',
      'skipped: a proof is used once',
      'skipped: a proof that was used is refused after a restart',
      'skipped: a wrong attempt does not use up the proof',
      'skipped: nothing is kept of proofs that were used or have expired',
      'skipped: of two clients with one proof exactly one is vouched for',
    ],
  )
})

test('The suite finds the fault of each mutant', async (t) => {
  // If a fault makes a call endless, the suite finds it only at the end of its time limit.
  timeLimit.ms = 1000
  t.teardown(() => {
    timeLimit.ms = 20_000
  })
  for (const { fault, foundBy, mutate } of loginMutants) {
    const harness = harnessOf({ mutate })
    const outcomes = await runSuite((test) => loginConformance(test, harness), foundBy)
    const shown = outcomes.map(({ name, outcome }) => `${outcome}: ${name}`)
    t.ok(
      outcomes.some(({ outcome }) => outcome === 'failed'),
      `${fault} ${shown.join('; ')}`,
    )
  }
})

test('A mutant fails each check', async (t) => {
  const names: string[] = []
  loginConformance((name) => names.push(name), harnessOf())
  t.strictSame(
    names.filter((name) => !loginMutants.some(({ foundBy }) => foundBy.test(name))),
    [],
  )
})

/** @param options.mutate returns the members that replace those of a correct provider */
function harnessOf({
  origin: address = 'http://127.0.0.1:4200',
  mutate = () => ({}),
}: {
  readonly origin?: string
  readonly mutate?: (provider: PaperLoginProvider) => Partial<PaperLoginProvider>
} = {}): LoginHarness {
  const origin = new URL(address)
  const open = (kept: Pick<PaperLoginProvider, 'clock' | 'state'>) => {
    const provider = new PaperLoginProvider(kept)
    return Object.assign(provider, mutate(provider))
  }
  const subject = (): LoginSubject => {
    const provider = open({ clock: { now: 1000 }, state: new Set() })
    const { clock, state } = provider
    const credentials = async () => {
      clock.now += 1
      const nonce = String(clock.now)
      return { uuid, address: wallet, token: `${nonce}.${proofOf(nonce, origin)}` }
    }
    return {
      provider,
      origin,
      credentials,
      async expire() {
        clock.now += lifetime
      },
      singleUse: {
        async guess(right) {
          const [nonce] = right.token.split('.')
          return { ...right, token: `${nonce}.${'0'.repeat(64)}` }
        },
        reopen: async () => open({ clock, state }),
        entries: async () => state.size,
      },
      async stalled() {
        const asked = new Promise<void>((resolve) => {
          provider.stall = resolve
        })
        return { credentials: await credentials(), asked }
      },
      unreachable() {
        provider.down = true
        return credentials()
      },
      close: async () => {},
    }
  }
  return { boundToOrigin: true, setUp: async () => subject() }
}
