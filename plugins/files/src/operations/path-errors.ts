import { isNodekeepError, NodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import { isMissing } from '../mounts/mounts.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { Scope } from './scope.ts'

export function missingError(path: UserPath, cause?: unknown): NodekeepError {
  return new NodekeepError('NOT_FOUND', `There is nothing at "${path}".`, { cause })
}

/** @throws the error, unless it says that nothing is at a path */
export function ignoreMissing(error: unknown): void {
  if (!isNodekeepError(error) || error.code !== 'NOT_FOUND') throw error
}

export function folderError(path: UserPath): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `"${path}" is a folder.`)
}

export function mountError(path: UserPath): NodekeepError {
  return new NodekeepError('CONFLICT', `"${path}" is a mount or contains one, so it stays where it is.`)
}

/** Runs a step of a backend that changes nothing. Its errors name the user's path. */
export async function forRead<T>(path: UserPath, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw isMissing(error) ? missingError(path, error) : error
  }
}

/** Runs a step of a backend that changes something. Its errors name the user's path. */
export async function forChange<T>(path: UserPath, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!isNodekeepError(error)) throw error
    if (error.code === 'NOT_FOUND') throw missingError(path, error)
    if (error.code === 'CONFLICT') {
      const message = `Something else is at "${path}", or a file is where one of its parent folders should be.`
      throw new NodekeepError('CONFLICT', message, { cause: error })
    }
    throw error
  }
}

/** Explains why a backend could not read a file or list a folder. */
export async function explain(
  { mounts, userUuid }: Pick<Scope, 'mounts' | 'userUuid'>,
  path: UserPath,
  error: unknown,
  expected: StorageEntry['type'],
): Promise<unknown> {
  if (!isNodekeepError(error)) return error
  if (error.code === 'NOT_FOUND') return missingError(path, error)
  if (error.code !== 'CONFLICT' && error.code !== 'VALIDATION_ERROR') return error
  const entry = await mounts.entryAt(userUuid, path)
  if (entry === null) return missingError(path, error)
  if (entry.type === expected) return error
  if (expected === 'file') return folderError(path)
  return new NodekeepError('VALIDATION_ERROR', `"${path}" is a file, not a folder.`)
}
