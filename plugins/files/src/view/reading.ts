import type { FileReading, StorageReadOptions } from '@nodekeep/plugin-sdk'
import type { UserPath } from '../paths/user-path.ts'
import { fileEntry } from './entries.ts'
import { explained, isFolder } from './explain.ts'
import type { Scope } from './scope.ts'

/** Opens a file. */
export async function read(scope: Scope, path: UserPath, options?: StorageReadOptions): Promise<FileReading> {
  if (scope.mounts.holdsMount(path)) throw isFolder(path)
  const { backend, backendPath } = scope.place(path)
  const { entry, content } = await backend.read(backendPath, options).catch(async (error) => {
    throw await explained(scope, path, error, 'file')
  })
  return { entry: await fileEntry(scope, path, entry), content }
}
