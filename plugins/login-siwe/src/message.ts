import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Ethereum } from './ethereum.ts'

/** The longest message that is read, in characters: parsing takes up to 4 ms for each thousand. */
const maxMessageLength = 4096

const nonceLine = '\nNonce: '

/** The fields of an EIP-4361 message that decide about a sign-in. */
export interface SignInMessage {
  /** The message as it was signed. */
  readonly text: string
  readonly domain: string
  /** In EIP-55 form. */
  readonly address: string
  readonly uri: string
  readonly version: string
  readonly chainId: number
  readonly nonce: string
  readonly issuedAt: Date
  readonly expirationTime: Date | null
  readonly notBefore: Date | null
}

/** The values that the fields of a message must have. */
interface Expectation {
  /** The origin of the node, as the client calls it. */
  readonly origin: URL
  readonly chainIds: ReadonlySet<number>
  readonly now: Date
  readonly maxAgeMs: number
  readonly clockSkewMs: number
}

const greeting = ' wants you to sign in with your Ethereum account:'

/**
 * Checks the first line, which names the site that asks for the signature, before the message is parsed.
 *
 * @throws NodekeepError UNAUTHORIZED
 */
export function checkDomain(text: string, { protocol, host }: URL): void {
  const [line = ''] = text.split('\n', 1)
  if (line === `${host}${greeting}` || line === `${protocol}//${host}${greeting}`) return
  throw refused(`The message was not made for ${host}: its first line must be "${host}${greeting}".`)
}

/**
 * Finds the nonce without parsing the message, so that only a message with a known nonce is parsed. The statement is free
 * text and may have such a line too, but it stands before the nonce.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function nonceOf(text: string): string {
  if (text.length > maxMessageLength) {
    throw unreadable(`it has more than ${maxMessageLength} characters`)
  }
  const line = text.lastIndexOf(nonceLine)
  if (line === -1) throw unreadable('it has no nonce')
  return text.slice(line + nonceLine.length).split('\n', 1)[0] ?? ''
}

/**
 * Reads an EIP-4361 message. The text that its fields make must be exactly the signed text, so that each message has only
 * one meaning.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function readMessage(text: string, { SiweMessage }: Ethereum): SignInMessage {
  const parsed = parse(text, SiweMessage)
  const { domain, address, uri, version, chainId, nonce, issuedAt, expirationTime, notBefore } = parsed
  if (parsed.toMessage() !== text) throw unreadable('its fields are not in the form of EIP-4361')
  return {
    text,
    domain,
    address,
    uri,
    version,
    chainId,
    nonce,
    issuedAt: time('Issued At', issuedAt ?? ''),
    expirationTime: expirationTime === undefined ? null : time('Expiration Time', expirationTime),
    notBefore: notBefore === undefined ? null : time('Not Before', notBefore),
  }
}

/**
 * Checks every field of a message but the nonce and the signer.
 *
 * @throws NodekeepError UNAUTHORIZED
 */
export function checkMessage(message: SignInMessage, expected: Expectation): void {
  const { origin, chainIds, maxAgeMs, clockSkewMs } = expected
  const now = expected.now.getTime()
  if (message.domain !== origin.host) throw refused(`The domain of the message must be ${origin.host}.`)
  if (message.uri !== origin.origin) throw refused(`The URI of the message must be ${origin.origin}.`)
  if (message.version !== '1') throw refused('The version of the message must be 1.')
  if (!chainIds.has(message.chainId)) {
    throw refused(`The chain id of the message must be ${[...chainIds].join(' or ')}.`)
  }
  if (message.issuedAt.getTime() > now + clockSkewMs) {
    throw refused(`The message was issued in the future: ${clocks(message.issuedAt, expected.now)}`)
  }
  if (message.issuedAt.getTime() < now - maxAgeMs) {
    throw refused(`The message is too old: ${clocks(message.issuedAt, expected.now)}`)
  }
  if (message.notBefore !== null && message.notBefore.getTime() > now + clockSkewMs) {
    throw refused('The message is not valid yet.')
  }
  if (message.expirationTime !== null && message.expirationTime.getTime() <= now) {
    throw refused('The message has expired. Sign a new one.')
  }
}

/** Which clock is wrong, only people can tell. */
function clocks(issuedAt: Date, now: Date): string {
  return (
    `it is of ${issuedAt.toISOString()}, and the clock of the node says ${now.toISOString()}. ` +
    'Sign a new one. If that fails too, check the clock of the node and that of your device.'
  )
}

function parse(text: string, SiweMessage: Ethereum['SiweMessage']) {
  try {
    return new SiweMessage(text)
  } catch (error) {
    // The parser names the line and the problem. A value that follows stays out of messages and logs.
    const reason = /^line \d+: [\w -]+?(?= - |\n|$)/.exec(error instanceof Error ? error.message : '')?.[0]
    throw unreadable(reason ?? 'it is not in the form of EIP-4361')
  }
}

function time(field: string, text: string): Date {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) throw unreadable(`its "${field}" is not a time`)
  return date
}

function unreadable(why: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `The signed message cannot be read: ${why}.`)
}

/** Returns an error for a signature that does not sign anybody in. */
export function refused(why: string): NodekeepError {
  return new NodekeepError('UNAUTHORIZED', why)
}
