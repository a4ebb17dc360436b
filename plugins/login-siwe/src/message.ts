import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Ethereum } from './ethereum.ts'

/** Characters of the longest message that is read: parsing takes up to 4 ms for each thousand. */
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

/**
 * Finds the nonce without parsing, which is worth it for a nonce of ours only. The statement, which is free text, may
 * have such a line too, but stands before it.
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
 * Reads an EIP-4361 message. Whatever was signed has to be the one text that its fields make.
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

function parse(text: string, SiweMessage: Ethereum['SiweMessage']) {
  try {
    return new SiweMessage(text)
  } catch (error) {
    // The parser names the line and what is wrong with it; a value that follows stays out of messages and logs.
    const reason = /^line \d+: [\w -]+?(?= - |\n|$)/.exec(error instanceof Error ? error.message : '')?.[0]
    throw unreadable(reason ?? 'it is not in the form of EIP-4361')
  }
}

function time(field: string, text: string): Date {
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) throw unreadable(`its "${field}" is no time`)
  return date
}

function unreadable(why: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `The signed message cannot be read: ${why}.`)
}
