import { isNodekeepError, NodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import { entryAt } from '../changes/happened.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { Scope } from './scope.ts'

export function nothingAt(path: UserPath, cause?: unknown): NodekeepError {
  return new NodekeepError('NOT_FOUND', `There is nothing at "${path}".`, { cause })
}

export function isFolder(path: UserPath): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `"${path}" is a folder.`)
}

export function isFile(path: UserPath): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `"${path}" is a file, not a folder.`)
}

export function isMount(path: UserPath): NodekeepError {
  return new NodekeepError('CONFLICT', `"${path}" is a mount or holds one: it stays where it is.`)
}

/** Runs a step of a backend that only looks, and puts its errors in terms of the user's path. */
export async function looking<T>(path: UserPath, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!isNodekeepError(error)) throw error
    // CONFLICT: a file is where a folder on the way should be.
    if (error.code === 'NOT_FOUND' || error.code === 'CONFLICT') throw nothingAt(path, error)
    throw error
  }
}

/** The same for a step that changes something. */
export async function changing<T>(path: UserPath, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!isNodekeepError(error)) throw error
    if (error.code === 'NOT_FOUND') throw nothingAt(path, error)
    if (error.code === 'CONFLICT') {
      const message = `Something else is in the place of "${path}", or a file is where a folder on the way to it should be.`
      throw new NodekeepError('CONFLICT', message, { cause: error })
    }
    throw error
  }
}

/** Explains why a backend could not read a file or list a folder. */
export async function explained(
  scope: Scope,
  path: UserPath,
  error: unknown,
  expected: StorageEntry['type'],
): Promise<unknown> {
  if (!isNodekeepError(error)) return error
  if (error.code === 'NOT_FOUND') return nothingAt(path, error)
  if (error.code !== 'CONFLICT' && error.code !== 'VALIDATION_ERROR') return error
  const entry = await entryAt(scope.mounts, scope.userUuid, path)
  if (entry === null) return nothingAt(path, error)
  if (entry.type === expected) return error
  return expected === 'file' ? isFolder(path) : isFile(path)
}
