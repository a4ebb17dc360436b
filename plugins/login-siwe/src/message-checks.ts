import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { SignInMessage } from './message.ts'

/** What a message has to agree with. */
export interface Expectation {
  /** The origin of the node, as the client calls it. */
  readonly origin: URL
  readonly chainIds: ReadonlySet<number>
  readonly now: Date
  readonly maxAgeMs: number
  readonly clockSkewMs: number
}

const greeting = ' wants you to sign in with your Ethereum account:'

/**
 * Checks the first line, which says who asks for the signature, before anything of the message is parsed.
 *
 * @throws NodekeepError UNAUTHORIZED
 */
export function checkDomain(text: string, { protocol, host }: URL): void {
  const [line = ''] = text.split('\n', 1)
  if (line === `${host}${greeting}` || line === `${protocol}//${host}${greeting}`) return
  throw refused(`The message was not made for ${host}: its first line must be "${host}${greeting}".`)
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
    throw refused('The message was issued in the future. Check the clock of your device.')
  }
  if (message.issuedAt.getTime() < now - maxAgeMs) {
    throw refused('The message is too old. Sign a new one, and check the clock of your device.')
  }
  if (message.notBefore !== null && message.notBefore.getTime() > now + clockSkewMs) {
    throw refused('The message is not valid yet.')
  }
  if (message.expirationTime !== null && message.expirationTime.getTime() <= now) {
    throw refused('The message has expired. Sign a new one.')
  }
}

function refused(why: string): NodekeepError {
  return new NodekeepError('UNAUTHORIZED', why)
}
