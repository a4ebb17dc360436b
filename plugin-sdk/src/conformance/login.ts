import assert from 'node:assert/strict'
import type { LoginCredentials, LoginProvider, VerifiedLogin } from '../contracts/login.ts'
import type { ErrorCode, NodekeepError } from '../errors.ts'
import { type ConformanceTest, checksOf } from './conformance-test.ts'
import { assertAborted, assertCode, assertFails, told } from './failures.ts'
import { soon } from './soon.ts'

export type { ConformanceTest }

/** A provider that is ready for one test, and its credentials. */
export interface LoginSubject {
  readonly provider: LoginProvider
  /** The origin that the credentials are made for. Any origin will do: the suite takes others for those that must be refused. */
  readonly origin: URL
  /** Makes correct credentials: always of the same wallet, with a new proof at each call. */
  credentials(): Promise<LoginCredentials>
  /** Lets the time pass after which the proofs made so far are too old. `null` if proofs do not expire. */
  readonly expire: (() => Promise<void>) | null
  /** `null` if a proof can be used for any number of sign-ins. */
  readonly singleUse: SingleUseProofs | null
  /**
   * Makes correct credentials whose check does not end, for providers that ask a server: the server receives the request
   * and does not answer. `asked` resolves when the server has the request.
   */
  stalled?(): Promise<{ readonly credentials: LoginCredentials; readonly asked: Promise<void> }>
  /** Makes correct credentials, and makes the server that would have to check them unreachable. */
  unreachable?(): Promise<LoginCredentials>
  close(): Promise<void>
}

/** The functions of a provider whose proofs can be used for one sign-in only. */
export interface SingleUseProofs {
  /**
   * Returns credentials as somebody makes them who guesses: they differ from the given ones only in the secret part of the proof, such as
   * the signature of the same nonce, and have its form.
   */
  guess(right: LoginCredentials): Promise<LoginCredentials>
  /** Opens the provider again with the state that it has, as after a restart of the node. `credentials` are for this one from then on. */
  reopen(): Promise<LoginProvider>
  /** Counts the entries that the provider has in the state of its plugin, or where else it keeps something over restarts. */
  entries(): Promise<number>
}

/** The facts about a provider that its author gives to the suite. */
export interface LoginHarness {
  /** Whether a proof can be used at one origin only. */
  readonly boundToOrigin: boolean
  /** Prepares a provider with a state of its own. Called once for each test. */
  setUp(): Promise<LoginSubject>
}

const reusable = 'A proof of this provider can be used more than once ("singleUse").'

/** A wallet whose key nobody has. */
const foreignAddress = `0x${'5a'.repeat(20)}`

/**
 * Registers the tests that every login provider must pass. The suite does not depend on a test runner: it uses the given
 * function to register its tests.
 *
 * @example
 * import { test } from 'node:test'
 * loginConformance(test, {
 *   boundToOrigin: true,
 *   setUp: async () => ({ provider, origin, credentials, expire, singleUse: { guess, reopen, entries }, close }),
 * })
 */
export function loginConformance(test: ConformanceTest, harness: LoginHarness): void {
  const check = checksOf(
    test,
    () => harness.setUp(),
    (subject) => subject.close(),
  )

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

  check('another wallet is refused, also if address and uuid fit together', async (subject) => {
    const credentials = await subject.credentials()
    const digits = new RegExp(credentials.address.slice(2), 'i')
    const named = credentials.uuid.replace(digits, foreignAddress.slice(2))
    const uuid = named === credentials.uuid ? changedAt(named, named.length - 1) : named
    await assertRefused(subject, { ...credentials, address: foreignAddress, uuid })
  })

  check('a proof for another origin is refused', async (subject, skip) => {
    if (!harness.boundToOrigin) return skip('A proof of this provider can be used at any origin.')
    for (const other of othersThan(subject.origin)) {
      await assertRefused({ ...subject, origin: other }, await subject.credentials())
    }
  })

  check('a proof that is too old is refused', async (subject, skip) => {
    if (subject.expire === null) return skip('Proofs of this provider do not expire ("expire").')
    const old = await subject.credentials()
    await subject.expire()
    await assertRefused(subject, old, ['UNAUTHORIZED'])
    const credentials = await subject.credentials()
    assertVouched(await verify(subject, credentials), credentials)
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
    const aborted = AbortSignal.abort()
    await assertAborted(verify(subject, credentials, aborted), aborted, 'an aborted sign-in')
  })

  check('a stalled check ends when the sign-in is aborted', async (subject, skip) => {
    if (subject.stalled === undefined) return skip('The harness has no "stalled".')
    const { credentials, asked } = await subject.stalled()
    const controller = new AbortController()
    const { signal } = controller
    const aborted = assertAborted(verify(subject, credentials, signal), signal, 'an aborted sign-in')
    await Promise.race([asked, aborted])
    controller.abort()
    await soon(aborted, 'the check went on after the sign-in was aborted')
  })

  check('a server that is down is told from a wrong proof', async (subject, skip) => {
    if (subject.unreachable === undefined) return skip('The harness has no "unreachable".')
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

  check('a proof is used once', async (subject, skip) => {
    if (subject.singleUse === null) return skip(reusable)
    const credentials = await subject.credentials()
    assertVouched(await verify(subject, credentials), credentials)
    await assertRefused(subject, credentials, ['UNAUTHORIZED'])
  })

  check('a proof that was used is refused after a restart', async (subject, skip) => {
    const { singleUse } = subject
    if (singleUse === null) return skip(reusable)
    const used = await subject.credentials()
    assertVouched(await verify(subject, used), used)
    const reopened = { ...subject, provider: await singleUse.reopen() }
    await assertRefused(reopened, used, ['UNAUTHORIZED'])
    const credentials = await subject.credentials()
    assertVouched(await verify(reopened, credentials), credentials)
  })

  check('a wrong attempt does not use up the proof', async (subject, skip) => {
    const { singleUse } = subject
    if (singleUse === null) return skip(reusable)
    const lastChanged = (text: string) => changedAt(text, text.length - 1)
    for (const wrong of [
      singleUse.guess,
      async (right: LoginCredentials) => ({ ...right, address: foreignAddress }),
      async (right: LoginCredentials) => ({ ...right, uuid: lastChanged(right.uuid) }),
      async (right: LoginCredentials) => ({ ...right, token: lastChanged(right.token) }),
    ]) {
      const right = await subject.credentials()
      await assertRefused(subject, await wrong(right))
      assertVouched(await verifyAfterAll(subject, right), right)
    }
    for (const origin of harness.boundToOrigin ? othersThan(subject.origin) : []) {
      const right = await subject.credentials()
      await assertRefused({ ...subject, origin }, right)
      assertVouched(await verifyAfterAll(subject, right), right)
    }
  })

  check('nothing is kept of proofs that were used or have expired', async (subject, skip) => {
    const { expire, singleUse } = subject
    if (singleUse === null) return skip(reusable)
    const before = await singleUse.entries()
    for (let used = 0; used < 10; used += 1) {
      const credentials = await subject.credentials()
      assertVouched(await verify(subject, credentials), credentials)
    }
    await expire?.()
    // A provider may clean up when it is used again.
    const credentials = await subject.credentials()
    assertVouched(await verify(subject, credentials), credentials)
    const more = (await singleUse.entries()) - before
    assert.ok(more <= 2, `${more} more entries are kept after 10 proofs were used and had expired`)
  })

  check('of two clients with one proof exactly one is vouched for', async (subject, skip) => {
    if (subject.singleUse === null) return skip(reusable)
    const credentials = await subject.credentials()
    const attempts = Array.from({ length: 8 }, () => verify(subject, credentials))
    const outcomes = await Promise.allSettled(attempts)
    const won = outcomes.filter(({ status }) => status === 'fulfilled')
    assert.equal(won.length, 1, `${won.length} of 8 simultaneous sign-ins with one proof succeeded`)
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') continue
      assertHidesToken(assertCode(outcome.reason, ['UNAUTHORIZED'], 'a proof that was used'), credentials)
    }
  })
}

function verify(
  { provider, origin }: LoginSubject,
  credentials: LoginCredentials,
  signal: AbortSignal = new AbortController().signal,
): Promise<VerifiedLogin> {
  return provider.verify(credentials, { origin, signal })
}

/** Verifies right credentials after wrong ones. */
function verifyAfterAll(subject: LoginSubject, right: LoginCredentials): Promise<VerifiedLogin> {
  return verify(subject, right).catch((error: unknown) =>
    assert.fail(`the right proof failed after a wrong attempt with ${told(error)}`),
  )
}

function assertVouched(verified: VerifiedLogin, { uuid, address }: LoginCredentials): void {
  assert.equal(verified.uuid, uuid, 'the uuid vouched for is that of the credentials')
  assert.match(verified.address, /^0x[0-9a-f]{40}$/i)
  assert.equal(verified.address.toLowerCase(), address.toLowerCase(), 'so is the address')
}

async function assertRefused(
  subject: LoginSubject,
  credentials: LoginCredentials,
  codes: readonly ErrorCode[] = ['UNAUTHORIZED', 'VALIDATION_ERROR'],
): Promise<void> {
  const { token } = credentials
  const error = await assertFails(verify(subject, credentials), codes, `the token ${token.slice(0, 60)}`)
  assertHidesToken(error, credentials)
}

function assertHidesToken({ message }: NodekeepError, { token }: LoginCredentials): void {
  const quoted = token.length >= 16 && message.includes(token)
  assert.ok(!quoted, 'the message of an error, which is logged, holds no token')
}

/** Returns origins that differ from one in the host, in the port, and in the scheme. */
function othersThan({ protocol, hostname, port, host }: URL): readonly URL[] {
  return [
    `${protocol}//${hostname === 'node.example' ? 'other' : 'node'}.example`,
    `${protocol}//${hostname}:${port === '1' ? 2 : 1}`,
    `${protocol === 'https:' ? 'http' : 'https'}://${host}`,
  ].map((origin) => new URL(origin))
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url')

/** Texts that no provider accepts as a proof, and that parsers may not expect. */
const unreadableTokens: readonly string[] = [
  '',
  ' ',
  'undefined',
  '__proto__',
  '{"token":1}',
  '../../etc/passwd',
  'a\u0000b',
  'a\r\nx-injected: 1',
  '\ud800',
  '🗝️',
  '%00',
  '====',
  'eyJhbGciOiJub25lIn0.e30.',
  ...['', 'null', '1', '""', '[]', '{}', '{', '{"__proto__":{}}', '['.repeat(5000)].map(base64url),
  'A'.repeat(1024 * 1024),
]

/** Returns the text with another digit at a position, so that it differs in more than the case of letters. */
function changedAt(text: string, position: number): string {
  return `${text.slice(0, position)}${text[position] === '1' ? '2' : '1'}${text.slice(position + 1)}`
}
