import { randomUUID } from 'node:crypto'
import type { StorageBackend, StorageEntry } from '@nodekeep/plugin-sdk'
import { keptPath } from '../mounts/kept-folder.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { KeepingOptions, Scope } from './scope.ts'

/** The place of something that is kept. */
export interface KeptPlace {
  /** Its name in the folder of the user, as the journal has it. */
  readonly name: string
  /** The path within the backend. */
  readonly backendPath: string
}

/**
 * A place at which nothing was ever. Its name begins with the time only so that those of one time are neighbors in the index, which then
 * writes few pages.
 */
export function newKeptPlace(userUuid: string): KeptPlace {
  const name = `${Date.now().toString(16)}-${randomUUID()}`
  return { name, backendPath: keptPath(userUuid, name) }
}

/** The place of something in a folder that is kept, by its path from there on. */
export function placeWithin({ name, backendPath }: KeptPlace, path: string): KeptPlace {
  return { name: `${name}${path}`, backendPath: `${backendPath}${path}` }
}

/** Whether a deletion on a backend goes to the trash. */
export function keepsDeleted({ trash }: KeepingOptions, { move, copy }: StorageBackend): boolean {
  return trash && (move !== undefined || copy !== undefined)
}

/** Whether an overwrite of a file on a backend keeps its former content. */
export function keepsOverwritten({ versions }: KeepingOptions, { supports }: StorageBackend): boolean {
  return versions && supports.keepsReplaced === true
}

/** The place that a file gets if a write replaces it; undefined if it is gone then. */
export function placeForOverwritten(scope: Scope, path: UserPath): KeptPlace | undefined {
  const isKept = keepsOverwritten(scope.keeping, scope.locate(path).backend)
  return isKept ? newKeptPlace(scope.userUuid) : undefined
}

/** The place that an entry gets if a move replaces it in one step; undefined if it is gone then, or there is none. */
export function placeForReplaced(
  scope: Scope,
  destination: UserPath,
  moved: Pick<StorageEntry, 'type'>,
  replaced: StorageEntry | null,
): KeptPlace | undefined {
  if (replaced === null) return undefined
  if (moved.type === 'file' && replaced.type === 'file') return placeForOverwritten(scope, destination)
  const { supports } = scope.locate(destination).backend
  return scope.keeping.trash && supports.keepsReplaced ? newKeptPlace(scope.userUuid) : undefined
}
