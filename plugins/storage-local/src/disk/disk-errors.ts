import { type ErrorCode, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'

const fullMessage = 'The disk is full. Remove what is not needed, then try again.'

/** The meanings of the system's error codes (errno, as Node names them). */
const meanings: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ['NOT_FOUND', 'There is no such file or folder.'],
  ELOOP: ['NOT_FOUND', 'There is no such file or folder.'],
  ENOTDIR: ['CONFLICT', 'A file has this name, where a folder is needed.'],
  EISDIR: ['CONFLICT', 'A folder has this name, where a file is needed.'],
  EEXIST: ['CONFLICT', 'A file or folder with this name exists. Choose another name.'],
  ENOTEMPTY: ['CONFLICT', 'A file or folder with this name exists. Choose another name.'],
  EINVAL: ['CONFLICT', 'The disk does not allow this change.'],
  ENAMETOOLONG: ['VALIDATION_ERROR', 'The name is too long for the disk. Choose a shorter one.'],
  EILSEQ: ['VALIDATION_ERROR', 'The disk does not allow this name. Choose another one.'],
  ENOSPC: ['INSUFFICIENT_STORAGE', fullMessage],
  EDQUOT: [
    'INSUFFICIENT_STORAGE',
    "The disk quota of the node's account is used up. Remove what is not needed, then try again.",
  ],
  EFBIG: ['INSUFFICIENT_STORAGE', 'The disk does not allow a file of this size.'],
  EMLINK: ['INSUFFICIENT_STORAGE', 'The disk does not allow more entries in this folder.'],
  EMFILE: ['SERVICE_UNAVAILABLE', 'Too many files are open. Try again in a moment.'],
  ENFILE: ['SERVICE_UNAVAILABLE', 'Too many files are open. Try again in a moment.'],
  EACCES: ['SERVICE_UNAVAILABLE', "The node's account has no permission for this on the disk."],
  EPERM: ['SERVICE_UNAVAILABLE', "The node's account has no permission for this on the disk."],
  EROFS: ['SERVICE_UNAVAILABLE', 'The disk is mounted read-only. Mount it writable.'],
}

/** Returns the error for the caller. The message of the system, which may contain paths, is only in the cause. */
export function storageError(thrown: unknown): unknown {
  if (isNodekeepError(thrown)) return thrown
  const code = errorCode(thrown)
  if (code === undefined) return thrown
  const [meaning, message] = meanings[code] ?? [
    'SERVICE_UNAVAILABLE',
    `The disk failed (${code}). Check the disk, then try again.`,
  ]
  return new NodekeepError(meaning, message, { cause: thrown })
}

/** Returns the code of a failure of the system; undefined for other failures. */
function errorCode(thrown: unknown): string | undefined {
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

/** For a disk on which only the reserve is free. */
export function diskFull(): NodekeepError {
  return new NodekeepError('INSUFFICIENT_STORAGE', fullMessage)
}

export function notFound(): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'There is no such file or folder.')
}

/** For `catch`: ignores that there was nothing to remove. */
export function unlessMissing(thrown: unknown): void {
  if (!isDiskError(thrown, 'ENOENT')) throw thrown
}
