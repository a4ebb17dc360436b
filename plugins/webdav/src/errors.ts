import { type ErrorSerializer, NodekeepError } from '@nodekeep/plugin-sdk'
import { hrefOf } from './dav-paths.ts'
import { escaped, xmlHead, xmlType } from './xml.ts'

/**
 * Writes an error in XML (RFC 4918, section 16): the `reason` of the error is the name of a precondition. The message for people is in the
 * element of sabre/dav, which clients show.
 */
export const errorXml: ErrorSerializer = ({ message, code, reason }) => ({
  contentType: xmlType,
  body: errorDocument(reason === null ? '' : `<D:${reason}/>`, message, code),
})

/** Returns an error for a request that breaks a precondition of RFC 4918, section 16, such as `propfind-finite-depth`. */
export function forbidden(condition: string, message: string): NodekeepError {
  return new NodekeepError('FORBIDDEN', message, { reason: condition })
}

/** A lock is in the way (RFC 4918, section 11.3). Its status is not one of the node's errors, so the routes answer it themselves. */
export class Locked extends Error {
  readonly status = 423
  readonly #condition: 'lock-token-submitted' | 'no-conflicting-lock'
  /** The files and folders that are locked. */
  readonly paths: readonly string[]

  constructor(condition: 'lock-token-submitted' | 'no-conflicting-lock', paths: readonly string[]) {
    super(
      condition === 'lock-token-submitted'
        ? 'Another program has locked this. Try again when it is finished, or send its lock token.'
        : 'Another program has locked this already. Try again when it is finished.',
    )
    this.#condition = condition
    this.paths = paths
  }

  get body(): string {
    const hrefs = this.paths.map((path) => `<D:href>${hrefOf(path, false)}</D:href>`)
    return errorDocument(
      `<D:${this.#condition}>${hrefs.join('')}</D:${this.#condition}>`,
      this.message,
      'LOCKED',
    )
  }
}

function errorDocument(condition: string, message: string, code: string): string {
  const text = `<s:exception>${code}</s:exception><s:message>${escaped(message)}</s:message>`
  return `${xmlHead}<D:error xmlns:D="DAV:" xmlns:s="http://sabredav.org/ns">${condition}${text}</D:error>\n`
}
