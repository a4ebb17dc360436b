import type { StorageEntry } from '@nodekeep/plugin-sdk'
import { childOf, type UserPath } from '../paths/user-path.ts'
import type { Scope } from './scope.ts'

/** What is at a path and below it, on its mount. Each folder comes before what is in it. */
export async function* walk(
  scope: Scope,
  path: UserPath,
): AsyncGenerator<readonly [path: UserPath, entry: StorageEntry], void, undefined> {
  const { backend, backendPath } = scope.place(path)
  const entry = await backend.stat(backendPath)
  yield [path, entry]
  // No recursion: each level would pass on all entries of those below it.
  const folders = entry.type === 'directory' ? [path] : []
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const place = scope.place(folder)
    for await (const child of place.backend.list(place.backendPath)) {
      const inner = childOf(folder, child.name)
      yield [inner, child]
      if (child.type === 'directory') folders.push(inner)
    }
  }
}
