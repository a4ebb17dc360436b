import assert from 'node:assert/strict'
import type { LoginCredentials, LoginProvider } from '../contracts/login.ts'
import type { ConformanceTest } from './conformance-test.ts'
import { assertAborts, assertErrorCode, assertRefused, assertVouched, verify } from './login-assertions.ts'
import { changedAt, unreadableTokens } from './login-tokens.ts'
import { soon } from './soon.ts'

export type { ConformanceTest }

/** A provider that is ready for one test, and the means to sign in with it. */
export interface LoginSubject {
  readonly provider: LoginProvider
  /** The origin that the credentials are made for. */
  readonly origin: URL
  /** Makes credentials that are right, with a fresh proof at each call and always of the same wallet. */
  credentials(): Promise<LoginCredentials>
  /**
   * Makes right credentials whose check doesn't end, for providers that ask a server: the server takes the request
   * and stays silent. `asked` resolves when the request is there.
   */
  stalled?(): Promise<{ readonly credentials: LoginCredentials; readonly asked: Promise<void> }>
  /** Makes right credentials and takes away the server that would have to check them. */
  unreachable?(): Promise<LoginCredentials>
  close(): Promise<void>
}

/** What a provider's author tells the suite. */
export interface LoginHarness {
  /** Whether a proof is good for one sign-in only. */
  readonly singleUse: boolean
  /** Prepares a provider with a state of its own. Called once for each test. */
  setUp(): Promise<LoginSubject>
}

/** A wallet that nobody holds the key of. */
const foreignAddress = `0x${'5a'.repeat(20)}`

/**
 * The tests that every login provider has to pass. The suite knows no test runner: it registers its tests with the
 * function that it is given.
 *
 * @example
 * import { test } from 'node:test'
 * loginConformance(test, { singleUse: true, setUp: async () => ({ provider, origin, credentials, close }) })
 */
export function loginConformance(test: ConformanceTest, harness: LoginHarness): void {
  const check = (name: string, run: (subject: LoginSubject) => Promise<void>) =>
    test(name, async () => {
      const subject = await harness.setUp()
      try {
        await run(subject)
      } finally {
        await subject.close()
      }
    })

  check('right credentials are vouched for', async (subject) => {
    const credentials = await subject.credentials()
    assertVouched(await verify(subject, credentials), credentials)
  })

  check('the case of the digits of the address does not matter', async (subject) => {
    for (const digits of [(text: string) => text.toLowerCase(), (text: string) => text.toUpperCase()]) {
      const credentials = await subject.credentials()
      const sent = { ...credentials, address: `0x${digits(credentials.address.slice(2))}` }
      assertVouched(await verify(subject, sent), credentials)
    }
  })

  check('another address is refused', async (subject) => {
    const credentials = await subject.credentials()
    const last = credentials.address.endsWith('0') ? '1' : '0'
    for (const address of [foreignAddress, credentials.address.slice(0, -1) + last]) {
      await assertRefused(subject, { ...(await subject.credentials()), address })
    }
  })

  check('another uuid is refused', async (subject) => {
    const { uuid } = await subject.credentials()
    for (const other of ['', 'x', `${uuid}0`, uuid.slice(0, -1), changedAt(uuid, uuid.length - 1)]) {
      await assertRefused(subject, { ...(await subject.credentials()), uuid: other })
    }
  })

  check('a token with one character changed is refused', async (subject) => {
    for (let step = 0; step < 24; step += 1) {
      const { token, ...rest } = await subject.credentials()
      const position = Math.floor((step / 24) * token.length)
      await assertRefused(subject, { ...rest, token: changedAt(token, position) })
    }
  })

  check('a token cut short or prolonged is refused', async (subject) => {
    for (const part of [0.1, 0.5, 0.9]) {
      const { token, ...rest } = await subject.credentials()
      await assertRefused(subject, { ...rest, token: token.slice(0, Math.floor(token.length * part)) })
    }
    const { token, ...rest } = await subject.credentials()
    await assertRefused(subject, { ...rest, token: `${token}${token}` })
  })

  check('what is no token at all is refused, not an internal error', async (subject) => {
    const credentials = await subject.credentials()
    for (const token of unreadableTokens) await assertRefused(subject, { ...credentials, token })
  })

  check('an aborted sign-in is not vouched for', async (subject) => {
    const credentials = await subject.credentials()
    await assertAborts(subject, credentials, AbortSignal.abort())
  })

  check('a stalled check ends when the sign-in is aborted', async (subject) => {
    if (subject.stalled === undefined) return
    const { credentials, asked } = await subject.stalled()
    const controller = new AbortController()
    const aborted = assertAborts(subject, credentials, controller.signal)
    await Promise.race([asked, aborted])
    controller.abort()
    await soon(aborted, 'the check went on after the sign-in was aborted')
  })

  check('a server that is down is told from a wrong proof', async (subject) => {
    if (subject.unreachable === undefined) return
    const credentials = await subject.unreachable()
    await assertRefused(subject, credentials, ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT', 'SERVICE_UNAVAILABLE'])
  })

  check('many sign-ins at once do not disturb each other', async (subject) => {
    const all = await Promise.all(Array.from({ length: 8 }, () => subject.credentials()))
    const foreign = { ...(await subject.credentials()), address: foreignAddress }
    await Promise.all([
      ...all.map(async (credentials) => assertVouched(await verify(subject, credentials), credentials)),
      assertRefused(subject, foreign),
    ])
  })

  if (!harness.singleUse) return

  check('a proof is used once', async (subject) => {
    const credentials = await subject.credentials()
    assertVouched(await verify(subject, credentials), credentials)
    await assertRefused(subject, credentials, ['UNAUTHORIZED'])
  })

  check('of two clients with one proof exactly one is vouched for', async (subject) => {
    const credentials = await subject.credentials()
    const attempts = Array.from({ length: 8 }, () => verify(subject, credentials))
    const outcomes = await Promise.allSettled(attempts)
    const won = outcomes.filter(({ status }) => status === 'fulfilled')
    assert.equal(won.length, 1, `${won.length} of 8 simultaneous sign-ins with one proof succeeded`)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assertErrorCode(outcome.reason, credentials, ['UNAUTHORIZED'])
    }
  })
}
