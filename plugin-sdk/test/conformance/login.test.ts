import { createHash } from 'node:crypto'
import { type LoginCredentials, type LoginProvider, NodekeepError } from '@nodekeep/plugin-sdk'
import {
  type LoginHarness,
  type LoginSubject,
  loginConformance,
} from '@nodekeep/plugin-sdk/conformance/login'
import { test } from 'tap'
import { patience } from '../../src/conformance/soon.ts'
import { runSuite } from './fixtures/suite-run.ts'

const address = '0x52908400098527886e0f7030069857d2e4169ee7'
const uuid = 'person-7'
const proofOf = (nonce: string) => createHash('sha256').update(`${nonce}:${address}`).digest('hex')

/** A provider that meets the contract. A test can replace its single steps. */
class PaperProvider implements LoginProvider {
  readonly nonces = new Set<string>()
  stall: (() => void) | undefined
  down = false

  async verify(credentials: LoginCredentials, { signal }: { signal: AbortSignal }) {
    this.checkAborted(signal)
    this.askServer()
    const [, nonce, proof] = this.read(credentials.token)
    if (this.stall !== undefined) await this.wait(signal)
    if (proof !== proofOf(nonce)) this.refuse()
    this.compare(credentials)
    await this.consume(nonce)
    return { uuid, address }
  }

  checkAborted(signal: AbortSignal): void {
    signal.throwIfAborted()
  }

  askServer(): void {
    if (this.down) throw new NodekeepError('UPSTREAM_ERROR', 'The server cannot be reached.')
  }

  read(token: string): [string, string, string] {
    const parts = /^([0-9]+)\.([0-9a-f]{64})$/.exec(token)
    if (parts === null) throw new NodekeepError('VALIDATION_ERROR', 'The token cannot be read.')
    return [...parts] as [string, string, string]
  }

  compare(credentials: LoginCredentials): void {
    if (credentials.uuid !== uuid || credentials.address.toLowerCase() !== address) this.refuse()
  }

  async consume(nonce: string): Promise<void> {
    if (!this.nonces.delete(nonce)) this.refuse()
  }

  wait(signal: AbortSignal): Promise<void> {
    this.stall?.()
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  refuse(): never {
    throw new NodekeepError('UNAUTHORIZED', 'Sign in again.')
  }
}

function harnessOf(create: () => PaperProvider): LoginHarness {
  let next = 1000
  const subject = (): LoginSubject => {
    const provider = create()
    const credentials = async () => {
      const nonce = String(next++)
      provider.nonces.add(nonce)
      return { uuid, address, token: `${nonce}.${proofOf(nonce)}` }
    }
    return {
      provider,
      origin: new URL('http://127.0.0.1:4200'),
      credentials,
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
  return { singleUse: true, setUp: async () => subject() }
}

loginConformance(
  test,
  harnessOf(() => new PaperProvider()),
)

test('Tests for abilities that a provider does not have are skipped by name', async (t) => {
  const { setUp } = harnessOf(() => new PaperProvider())
  const without = async (): Promise<LoginSubject> => {
    const { stalled: _stalled, unreachable: _unreachable, ...subject } = await setUp()
    return subject
  }
  const outcomes = await runSuite((test) => loginConformance(test, { singleUse: false, setUp: without }))
  t.strictSame(
    outcomes.filter(({ outcome }) => outcome !== 'passed').map(({ outcome, name }) => `${outcome}: ${name}`),
    [
      'skipped: a stalled check ends when the sign-in is aborted',
      'skipped: a server that is down is told from a wrong proof',
      'skipped: a proof is used once',
      'skipped: of two clients with one proof exactly one is vouched for',
    ],
  )
})

/** The faults, each with the name of a test that must find it and the replaced members of the provider. */
const faults: [found: RegExp, fault: (provider: PaperProvider) => Partial<PaperProvider>][] = [
  [
    /another address/,
    (provider) => ({ compare: (credentials) => void (credentials.uuid === uuid || provider.refuse()) }),
  ],
  [
    /another uuid/,
    (provider) => ({
      compare: (credentials) => void (credentials.address.toLowerCase() === address || provider.refuse()),
    }),
  ],
  [
    /case of the digits/,
    (provider) => ({ compare: (credentials) => void (credentials.address === address || provider.refuse()) }),
  ],
  [
    /no token at all/,
    (provider) => {
      const read = provider.read.bind(provider)
      return { read: (token) => (token.includes('.') ? read(token) : JSON.parse(token)) }
    },
  ],
  [
    /one character changed/,
    () => ({ read: (token) => [token, token.slice(0, 4), proofOf(token.slice(0, 4))] }),
  ],
  [/used once/, () => ({ consume: async () => {} })],
  [
    /two clients/,
    (provider) => ({
      async consume(nonce) {
        if (!provider.nonces.has(nonce)) provider.refuse()
        await Promise.resolve()
        provider.nonces.delete(nonce)
      },
    }),
  ],
  [/an aborted sign-in/, () => ({ checkAborted: () => {} })],
  [
    /stalled/,
    (provider) => ({
      wait() {
        provider.stall?.()
        return new Promise<void>(() => {})
      },
    }),
  ],
  [/server that is down/, (provider) => ({ askServer: () => void (provider.down && provider.refuse()) })],
]

test('The suite finds each fault of a provider', async (t) => {
  // If a fault makes a call endless, the suite finds it only at the end of its patience.
  patience.ms = 1000
  t.teardown(() => {
    patience.ms = 5000
  })
  for (const [found, fault] of faults) {
    const harness = harnessOf(() => {
      const provider = new PaperProvider()
      return Object.assign(provider, fault(provider))
    })
    const outcomes = await runSuite((test) => loginConformance(test, harness))
    const failed = outcomes.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name)
    t.ok(
      failed.some((name) => found.test(name)),
      `A test that matches ${found} must fail. These fail: ${failed.join('; ')}`,
    )
  }
})
