import { getSystemErrorMessage } from 'node:util'
import { SyncFailure, type SyncFailureKind } from '../sync-failure.ts'

/** https://man7.org/linux/man-pages/man3/errno.3.html */
const kinds: Readonly<Record<string, SyncFailureKind>> = {
  ENOENT: 'changed',
  ENOTDIR: 'changed',
  EEXIST: 'changed',
  ENOTEMPTY: 'changed',
  EISDIR: 'changed',
  ELOOP: 'changed',
  ENXIO: 'changed',
  ENODEV: 'changed',
  ENOSPC: 'unavailable',
  EDQUOT: 'unavailable',
  EROFS: 'unavailable',
  EIO: 'unavailable',
  EBUSY: 'unavailable',
  EMFILE: 'unavailable',
  ENFILE: 'unavailable',
  ESTALE: 'unavailable',
  EACCES: 'refused',
  EPERM: 'refused',
  EXDEV: 'refused',
  EINVAL: 'refused',
  EILSEQ: 'refused',
  ENAMETOOLONG: 'refused',
  EFBIG: 'refused',
}

const causes: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full.',
  EDQUOT: 'The disk is full.',
  EROFS: 'The disk is read-only.',
}

/** Whether an error of the disk has one of some codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | null)?.code ?? '')
}

/**
 * Does something with the disk. Expected errors become those of sync. Their messages name the entry: those of Node name the file that
 * took part, such as one of the client's own.
 *
 * @param path the path of the entry
 */
export async function withDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code = '', errno } = error as NodeJS.ErrnoException
    const kind = kinds[code]
    if (kind === undefined) throw error
    const cause = causes[code] ?? `${getSystemErrorMessage(errno ?? 0)} (${code})`
    throw new SyncFailure(kind, `${path}: ${cause}`, { cause: error })
  }
}
