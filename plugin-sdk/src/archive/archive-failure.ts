import { isDiskFull } from '../data-folder/disk-failures.ts'
import type { ErrorCode } from '../errors.ts'

/** Why an archive is not read further, in a form that crosses threads. */
export interface ArchiveFailure {
  readonly code: Extract<
    ErrorCode,
    'VALIDATION_ERROR' | 'PAYLOAD_TOO_LARGE' | 'NOT_FOUND' | 'INSUFFICIENT_STORAGE'
  >
  /** A predicate of the archive: "is damaged". */
  readonly message: string
}

/** Ends the reading of an archive. Its message is a predicate of the archive: "is damaged". */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError'
  readonly code: ArchiveFailure['code']

  constructor(message: string, code: ArchiveFailure['code'] = 'VALIDATION_ERROR') {
    super(message)
    this.code = code
  }
}

/**
 * Explains an error that {@link archiveEntries} or {@link unpackEntries} threw. Returns `null` for errors of the source and for
 * faults of the code.
 */
export function archiveFailure(error: unknown): ArchiveFailure | null {
  const { name, message, code, syscall } = error as NodeJS.ErrnoException
  // An error of a thread has no class.
  if (name === 'ArchiveError') return { code: code as ArchiveFailure['code'], message }
  if (typeof code !== 'string') return null
  if (code.startsWith('Z_'))
    return { code: 'VALIDATION_ERROR', message: 'is damaged or cut short, or is no gzip file' }
  if (isDiskFull(error)) {
    return {
      code: 'INSUFFICIENT_STORAGE',
      message: 'cannot be unpacked: the disk is full. Free some space and try again',
    }
  }
  if ((code === 'ENOENT' || code === 'ENOTDIR') && syscall === 'stat')
    return { code: 'NOT_FOUND', message: 'does not exist' }
  if (code === 'EEXIST' || code === 'ENAMETOOLONG' || code === 'EINVAL' || code === 'EILSEQ') {
    return {
      code: 'VALIDATION_ERROR',
      message: `cannot be unpacked here: the file system takes one of its names for another or refuses it (${code})`,
    }
  }
  return null
}
