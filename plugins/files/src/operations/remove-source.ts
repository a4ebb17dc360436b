import { concurrently, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { foldersAbove, type UserPath } from '../paths/user-path.ts'
import { removalsAtOnce, removeLocked } from './removal.ts'
import type { Scope } from './scope.ts'
import { deepestFirst, type Tree } from './walk.ts'

/** Paths that an error names. */
const namedPaths = 3

/** Source and destination of a move. */
interface Endpoints {
  readonly source: UserPath
  readonly destination: UserPath
  readonly verb: 'copied' | 'moved'
}

/**
 * Removes exactly these entries: each file if it still has its revision, then the folders, inner ones first, if nothing is
 * left in them. Entries that listings do not show, and entries that other programs added or changed meanwhile, stay
 * together with their folders.
 *
 * @returns the entries that stayed
 */
export async function removeExactly(scope: Scope, { files, folders }: Tree): Promise<UserPath[]> {
  const stayed: UserPath[] = []
  const inUse = new Set<UserPath>()
  const remove = async (path: UserPath, condition: { ifRevision: string } | { onlyIfEmpty: true }) => {
    if (await isRemoved(scope, path, condition)) return
    stayed.push(path)
    for (const folder of foldersAbove(path)) inUse.add(folder)
  }
  await concurrently(files, removalsAtOnce, ({ path, revision }) => remove(path, { ifRevision: revision }))
  for (const level of deepestFirst(folders)) {
    const unused = level.filter((path) => !inUse.has(path))
    await concurrently(unused, removalsAtOnce, (path) => remove(path, { onlyIfEmpty: true }))
  }
  return stayed
}

/**
 * Removes the source of a move whose content is at the destination.
 *
 * @param moved the entries whose content is there, for a move of single files only the folders
 * @throws NodekeepError CONFLICT that names what stayed; the code of another failure, such as SERVICE_UNAVAILABLE
 */
export async function removeSource(scope: Scope, moved: Tree, endpoints: Endpoints): Promise<void> {
  const stayed = await removeExactly(scope, moved).catch((error) => {
    throw isNodekeepError(error) ? removalFailed(endpoints, error) : error
  })
  if (stayed.length > 0) throw entriesStayed(endpoints, stayed)
}

/** False when the path holds something else than the entry. */
async function isRemoved(...args: Parameters<typeof removeLocked>): Promise<boolean> {
  try {
    await removeLocked(...args)
    return true
  } catch (error) {
    if (!isNodekeepError(error)) throw error
    if (error.code === 'NOT_FOUND') return true
    if (error.code === 'CONFLICT' || error.code === 'PRECONDITION_FAILED') return false
    throw error
  }
}

function entriesStayed({ source, destination, verb }: Endpoints, stayed: readonly UserPath[]): NodekeepError {
  const first = stayed.slice(0, namedPaths).map((path) => `"${path}"`)
  const more = stayed.length > namedPaths ? ` and ${stayed.length - namedPaths} more` : ''
  return new NodekeepError(
    'CONFLICT',
    `"${source}" was ${verb} to "${destination}", but not all of it could be removed afterwards. These stay: ` +
      `${first.join(', ')}${more}. They were changed meanwhile, or contain something that is not ${verb}, such as a link.`,
  )
}

function removalFailed({ source, destination, verb }: Endpoints, cause: NodekeepError): NodekeepError {
  const message = `"${source}" was ${verb} to "${destination}", but could not be removed afterwards: ${cause.message}`
  return new NodekeepError(cause.code, message, { cause, headers: cause.headers })
}
