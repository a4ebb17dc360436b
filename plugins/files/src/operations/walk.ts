import { NodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import { childOf, longestPath, type UserPath } from '../paths/user-path.ts'
import type { Scope } from './scope.ts'

/** The entry at a path and all entries below it, on its mount. A folder comes before its content. */
export async function* walk(
  scope: Scope,
  path: UserPath,
): AsyncGenerator<readonly [path: UserPath, entry: StorageEntry], void, undefined> {
  const { backend, backendPath } = scope.locate(path)
  const entry = await backend.stat(backendPath)
  yield [path, entry]
  // Without recursion: with it, every level would pass on all entries of the levels below.
  const folders = entry.type === 'directory' ? [path] : []
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const { backend, backendPath } = scope.locate(folder)
    for await (const child of backend.list(backendPath)) {
      const childPath = childOf(folder, child.name)
      yield [childPath, child]
      if (child.type === 'directory') folders.push(childPath)
    }
  }
}

/**
 * Checks that a folder can move without giving anything in it a path that is too long to be used. A move to a longer path
 * walks the folder.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export async function checkPathLengths(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (Buffer.byteLength(destination) <= Buffer.byteLength(source)) return
  for await (const [path] of walk(scope, source)) {
    signal?.throwIfAborted()
    checkPathLength(path, source, destination)
  }
}

/** The check of {@link checkPathLengths} for one path within the folder. */
export function checkPathLength(path: UserPath, source: UserPath, destination: UserPath): void {
  const added = Buffer.byteLength(destination) - Buffer.byteLength(source)
  if (Buffer.byteLength(path) + added <= longestPath) return
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `Something in "${source}" would have a path of more than ${longestPath} bytes in "${destination}". Choose a ` +
      'shorter destination.',
  )
}
