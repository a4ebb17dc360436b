import { type ErrorCode, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'

const FULL = 'The disk is full. Remove what is not needed, then try again.'

/** Failures of the system, by the code that it gives them (errno, as Node names it). */
const meanings: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ['NOT_FOUND', 'There is no such file or folder.'],
  ELOOP: ['NOT_FOUND', 'There is no such file or folder.'],
  ENOTDIR: ['CONFLICT', 'A file stands where a folder is needed.'],
  EISDIR: ['CONFLICT', 'A folder stands where a file is needed.'],
  EEXIST: ['CONFLICT', 'Something with this name exists already.'],
  ENOTEMPTY: ['CONFLICT', 'Something with this name exists already.'],
  EINVAL: ['CONFLICT', 'The disk does not allow this change.'],
  ENAMETOOLONG: ['VALIDATION_ERROR', 'The name is too long for the disk. Choose a shorter one.'],
  EILSEQ: ['VALIDATION_ERROR', 'The disk does not allow this name. Choose another one.'],
  ENOSPC: ['INSUFFICIENT_STORAGE', FULL],
  EDQUOT: ['INSUFFICIENT_STORAGE', "The disk quota of the node's account is used up."],
  EFBIG: ['INSUFFICIENT_STORAGE', 'The disk does not allow files of this size.'],
  EMLINK: ['INSUFFICIENT_STORAGE', 'The disk does not allow more entries in this folder.'],
  EMFILE: ['SERVICE_UNAVAILABLE', 'Too many files are open. Try again in a moment.'],
  ENFILE: ['SERVICE_UNAVAILABLE', 'Too many files are open. Try again in a moment.'],
  EACCES: ['SERVICE_UNAVAILABLE', "The node's account has no permission for this on the disk."],
  EPERM: ['SERVICE_UNAVAILABLE', "The node's account has no permission for this on the disk."],
  EROFS: ['SERVICE_UNAVAILABLE', 'The disk can only be read. Mount it writable.'],
}

/**
 * A failure that isn't the disk's: of the stream that is written, of `beforeCommit`, or the reason of a signal. It
 * goes through to the caller as it was, whatever its `code` says.
 */
export class ForeignFailure {
  readonly failure: unknown

  constructor(failure: unknown) {
    this.failure = failure
  }
}

/** The items of somebody else's stream; what it fails with is not the disk's failure. */
export async function* foreign<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  try {
    yield* source
  } catch (failure) {
    throw new ForeignFailure(failure)
  }
}

/** What to throw to a caller for what was thrown inside. The disk's own words stay in the cause. */
export function storageError(thrown: unknown): unknown {
  if (thrown instanceof ForeignFailure) return thrown.failure
  if (isNodekeepError(thrown)) return thrown
  const code = errorCode(thrown)
  if (code === undefined) return thrown
  const [meaning, message] = meanings[code] ?? [
    'SERVICE_UNAVAILABLE',
    `The disk does not work as it should (${code}). Look at it before you go on.`,
  ]
  return new NodekeepError(meaning, message, { cause: thrown })
}

/** The code that the system gave a failure; undefined for other failures. */
export function errorCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('syscall' in thrown)) return undefined
  return typeof (thrown as NodeJS.ErrnoException).code === 'string'
    ? (thrown as NodeJS.ErrnoException).code
    : undefined
}

/** Whether a failure of the system has one of the codes. */
export function isDiskError(thrown: unknown, ...codes: string[]): boolean {
  const code = errorCode(thrown)
  return code !== undefined && codes.includes(code)
}

/** For a disk that is as full as it may get. */
export function diskFull(): NodekeepError {
  return new NodekeepError('INSUFFICIENT_STORAGE', FULL)
}

export function notFound(): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'There is no such file or folder.')
}

/** For `catch`: nothing to remove is fine. */
export function unlessMissing(thrown: unknown): void {
  if (!isDiskError(thrown, 'ENOENT')) throw thrown
}
