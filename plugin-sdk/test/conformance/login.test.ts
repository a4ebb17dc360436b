import {
  type LoginHarness,
  type LoginSubject,
  loginConformance,
} from '@nodekeep/plugin-sdk/conformance/login'
import { test } from 'tap'
import { timeLimit } from '../../src/conformance/soon.ts'
import { loginMutants } from './fixtures/login-mutants.ts'
import { address, PaperLoginProvider, proofOf, uuid } from './fixtures/paper-login-provider.ts'
import { runSuite } from './fixtures/suite-run.ts'

loginConformance(
  test,
  harnessOf(() => new PaperLoginProvider()),
)

test('Tests for abilities that a provider does not have are skipped by name', async (t) => {
  const { setUp } = harnessOf(() => new PaperLoginProvider())
  const without = async (): Promise<LoginSubject> => {
    const { provider, origin, credentials, close } = await setUp()
    return { provider, origin, credentials, close }
  }
  const outcomes = await runSuite((test) =>
    loginConformance(test, { singleUse: false, boundToOrigin: false, setUp: without }),
  )
  t.strictSame(
    outcomes.filter(({ outcome }) => outcome !== 'passed').map(({ outcome, name }) => `${outcome}: ${name}`),
    [
      'skipped: a proof for another origin is refused',
      'skipped: a proof that is too old is refused',
      'skipped: a stalled check ends when the sign-in is aborted',
      'skipped: a server that is down is told from a wrong proof',
      'skipped: a proof is used once',
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
    const harness = harnessOf(() => {
      const provider = new PaperLoginProvider()
      return Object.assign(provider, mutate(provider))
    })
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
  loginConformance(
    (name) => names.push(name),
    harnessOf(() => new PaperLoginProvider()),
  )
  t.strictSame(
    names.filter((name) => !loginMutants.some(({ foundBy }) => foundBy.test(name))),
    [],
  )
})

function harnessOf(create: () => PaperLoginProvider): LoginHarness {
  let next = 1000
  const origin = new URL('http://127.0.0.1:4200')
  const subject = (): LoginSubject => {
    const provider = create()
    const credentials = async () => {
      const nonce = String(next++)
      provider.nonces.add(nonce)
      return { uuid, address, token: `${nonce}.${proofOf(nonce, origin)}` }
    }
    return {
      provider,
      origin,
      credentials,
      async stalled() {
        const asked = new Promise<void>((resolve) => {
          provider.stall = resolve
        })
        return { credentials: await credentials(), asked }
      },
      async expired() {
        const old = await credentials()
        provider.expired.add(old.token.split('.')[0] ?? '')
        return old
      },
      unreachable() {
        provider.down = true
        return credentials()
      },
      close: async () => {},
    }
  }
  return { singleUse: true, boundToOrigin: true, setUp: async () => subject() }
}
