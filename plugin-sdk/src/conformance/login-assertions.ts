import assert from 'node:assert/strict'
import type { LoginCredentials, VerifiedLogin } from '../contracts/login.ts'
import { type ErrorCode, isNodekeepError } from '../errors.ts'
import type { LoginSubject } from './login.ts'

export function verify(
  { provider, origin }: LoginSubject,
  credentials: LoginCredentials,
  signal: AbortSignal = new AbortController().signal,
): Promise<VerifiedLogin> {
  return provider.verify(credentials, { origin, signal })
}

export function assertVouched(verified: VerifiedLogin, { uuid, address }: LoginCredentials): void {
  assert.equal(verified.uuid, uuid, 'the uuid vouched for is that of the credentials')
  assert.match(verified.address, /^0x[0-9a-f]{40}$/i)
  assert.equal(verified.address.toLowerCase(), address.toLowerCase(), 'so is the address')
}

export async function assertRefused(
  subject: LoginSubject,
  credentials: LoginCredentials,
  codes: readonly ErrorCode[] = ['UNAUTHORIZED', 'VALIDATION_ERROR'],
): Promise<void> {
  const thrown = await rejection(verify(subject, credentials), credentials)
  assertErrorCode(thrown, credentials, codes)
}

export async function assertAborts(
  subject: LoginSubject,
  credentials: LoginCredentials,
  signal: AbortSignal,
): Promise<void> {
  const thrown = await rejection(verify(subject, credentials, signal), credentials)
  assert.ok(
    thrown === signal.reason || isNodekeepError(thrown),
    `an aborted sign-in ends with the signal's reason or a NodekeepError, not with ${String(thrown)}`,
  )
}

async function rejection(verifying: Promise<VerifiedLogin>, { token }: LoginCredentials): Promise<unknown> {
  const outcome = await verifying.then(
    () => null,
    (thrown: unknown) => ({ thrown }),
  )
  if (outcome === null) assert.fail(`somebody was vouched for with the token ${token.slice(0, 60)}`)
  return outcome.thrown
}

export function assertErrorCode(
  thrown: unknown,
  { token }: LoginCredentials,
  codes: readonly ErrorCode[],
): void {
  if (!isNodekeepError(thrown)) assert.fail(`${String(thrown)} is no NodekeepError`)
  assert.ok(codes.includes(thrown.code), `${thrown.code} (${thrown.message}) is none of ${codes.join(', ')}`)
  assert.notEqual(thrown.message, '', 'an error tells a person what to do')
  const quoted = token.length >= 16 && thrown.message.includes(token)
  assert.ok(!quoted, 'the message of an error, which is logged, holds no token')
}
