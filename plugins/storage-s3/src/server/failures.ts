import { NodekeepError } from '@nodekeep/plugin-sdk'

/** The parts of an error of the client library that matter here. */
interface LibraryError extends Error {
  /** Set if the server answered. */
  readonly $metadata?: { readonly httpStatusCode?: number }
  readonly Code?: string
}

/** Returns the HTTP status of the answer; undefined if there was none, or for another error. */
export function statusOf(error: unknown): number | undefined {
  return (error as LibraryError | null)?.$metadata?.httpStatusCode
}

/** Whether a condition of a write was not met. */
export function isConditionFailed(error: unknown): boolean {
  return statusOf(error) === 412
}

/** Whether the server says that there is no such object. It says nothing about the bucket if it answered without a body. */
export function isMissingObject(error: unknown): boolean {
  return statusOf(error) === 404 && codeOf(error) !== 'NoSuchBucket'
}

/** Whether the range of a reading begins behind the end. */
export function isRangeRefused(error: unknown): boolean {
  return statusOf(error) === 416
}

/** Whether the server has too little space, or the owner of the bucket may use no more. */
function isFull(error: unknown): boolean {
  return statusOf(error) === 507 || /Quota|Insufficient|StorageFull/.test(codeOf(error))
}

/** Returns the error of a request for the caller of the storage. */
export function requestError(error: unknown): unknown {
  if (!isFull(error)) return error
  const message = 'The bucket is full. Remove files, or let it grow.'
  return new NodekeepError('INSUFFICIENT_STORAGE', message, { cause: error })
}

/** Whether the server has answered that it did not do what it was asked. Other answers may come while it still works on it. */
export function isRefusal(error: unknown): boolean {
  const status = statusOf(error)
  return status !== undefined && ![500, 502, 504].includes(status)
}

/**
 * Returns the error of a request that changes something. Without a clear answer, it may still have its effect some seconds later.
 */
export function changeError(error: unknown): unknown {
  if (isRefusal(error) || isFull(error) || !(error instanceof Error) || error instanceof NodekeepError)
    return requestError(error)
  return new DOMException(`The server did not answer: ${error.message}`, 'TimeoutError')
}

/** Returns what a person can do about a failed request; null if only waiting helps. */
export function remedyFor(error: unknown, bucket: string): string | null {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const code = codeOf(cause)
    if (code === 'NoSuchBucket') return `The server has no bucket "${bucket}". Make it, or correct "bucket".`
    if (statusOf(cause) === 301 || code === 'AuthorizationHeaderMalformed')
      return 'The bucket is in another region. Correct "region".'
    if (code === 'ExpiredToken' || code === 'TokenRefreshRequired')
      return 'The credentials have expired. Renew them.'
    if (code === 'AccessDenied' || statusOf(cause) === 403)
      return 'The server refuses the credentials, or they lack rights on the bucket: to list, read, write and delete.'
    if (code === 'CredentialsProviderError') return 'There are no credentials. Set them in the configuration.'
  }
  return null
}

function codeOf(error: unknown): string {
  const { Code, name = '' } = (error ?? {}) as Partial<LibraryError>
  return Code ?? name
}
