import { NodekeepError } from '@nodekeep/plugin-sdk'

/** The longest token that is read, in characters. */
const maxTokenLength = 16 * 1024

/** The content of a token. */
export interface SignedMessage {
  /** The EIP-4361 text, as the wallet signed it. */
  readonly message: string
  /** `0x` and hexadecimal digits in lower case. */
  readonly signature: string
}

/**
 * Reads a token: base64url without padding of the JSON text `{ "message": …, "signature": "0x…" }`. Other
 * encodings of the same bytes are refused.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function readToken(token: string): SignedMessage {
  if (token.length > maxTokenLength) throw unreadable(`it has more than ${maxTokenLength} characters`)
  const bytes = Buffer.from(token, 'base64url')
  if (token === '' || bytes.toString('base64url') !== token) throw unreadable('it is not base64url')
  const { message, signature } = readJson(bytes)
  if (typeof message !== 'string') throw unreadable('its "message" is not a string')
  if (typeof signature !== 'string' || !/^0x(?:[0-9a-f]{2})+$/.test(signature)) {
    throw unreadable('its "signature" is not 0x and pairs of hexadecimal digits in lower case')
  }
  return { message, signature }
}

function readJson(bytes: Buffer): Record<string, unknown> {
  let content: unknown
  try {
    content = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    throw unreadable('it is not JSON')
  }
  if (typeof content !== 'object' || content === null) throw unreadable('it is not a JSON object')
  return content as Record<string, unknown>
}

function unreadable(why: string): NodekeepError {
  return new NodekeepError(
    'VALIDATION_ERROR',
    `The token cannot be read: ${why}. It is base64url of the JSON { "message", "signature" }.`,
  )
}
