import { type PublicError, publicError } from '../errors/public-error.ts'

/**
 * What a client is told whose bytes never became a request, or `null` when it is gone.
 *
 * @param error what `http.Server` emits as `clientError`
 */
export function clientError(error: NodeJS.ErrnoException): PublicError | null {
  switch (error.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return null
    case 'HPE_HEADER_OVERFLOW':
      return publicError('HEADERS_TOO_LARGE', 'The request headers are too large: at most 16 KiB in all.')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return publicError('PAYLOAD_TOO_LARGE', 'The chunk extensions of the request body are too large.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return publicError('REQUEST_TIMEOUT', 'The request headers did not arrive in time.')
    default:
      return publicError('VALIDATION_ERROR', 'This is not a well-formed HTTP/1.1 request.')
  }
}
