import { type FileChangeOptions, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import type { UserPath } from '../paths/user-path.ts'
import type { Copied } from './crossing.ts'
import { removeLocked } from './removal.ts'
import type { Scope } from './scope.ts'
import { sideBySide } from './side-by-side.ts'

/** Removals that run at once: they share the syncs of their folder and of the journal. */
const width = 16

/** So many paths are named in an error. */
const named = 3

/** Where something came from, and where its copy is by now. */
interface Places {
  readonly source: UserPath
  readonly destination: UserPath
}

/**
 * Removes from a mount exactly what was copied to another one: each file if it still is in the version that was
 * copied, then the folders, inner ones first, if nothing is left in them. Whatever listings don't show, and what other
 * programs added or changed meanwhile, stays with the folders that it is in.
 *
 * @throws NodekeepError CONFLICT that says what stayed; the code of another failure, such as SERVICE_UNAVAILABLE
 */
export async function clearCopied(
  scope: Scope,
  { files, folders }: Copied,
  places: Places,
  options: FileChangeOptions,
): Promise<void> {
  const stayed: UserPath[] = []
  const inUse = new Set<string>()
  const remove = async (path: UserPath, condition: { ifRevision: string } | { onlyIfEmpty: true }) => {
    if (await isRemoved(scope, path, { ...options, ...condition })) return
    stayed.push(path)
    for (const folder of foldersAbove(path)) inUse.add(folder)
  }
  try {
    await sideBySide(files, width, ({ path, revision }) => remove(path, { ifRevision: revision }))
    for (const level of fromTheBottom(folders)) {
      const left = level.filter((path) => !inUse.has(path))
      await sideBySide(left, width, (path) => remove(path, { onlyIfEmpty: true }))
    }
  } catch (error) {
    throw isNodekeepError(error) ? halfway(places, error) : error
  }
  if (stayed.length > 0) throw notAllGone(places, stayed)
}

/** False when something else is there than what was copied. */
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

/** Folders in groups, those of the same depth together, the deepest first. */
function fromTheBottom(folders: readonly UserPath[]): UserPath[][] {
  const levels: UserPath[][] = []
  for (const folder of folders) {
    const depth = folder.split('/').length
    levels[depth] ??= []
    levels[depth].push(folder)
  }
  return levels.filter((level) => level !== undefined).reverse()
}

function foldersAbove(path: UserPath): string[] {
  const names = path.split('/').slice(1, -1)
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)
}

function notAllGone({ source, destination }: Places, stayed: readonly UserPath[]): NodekeepError {
  const first = stayed.slice(0, named).map((path) => `"${path}"`)
  const more = stayed.length > named ? ` and ${stayed.length - named} more` : ''
  return new NodekeepError(
    'CONFLICT',
    `"${source}" was copied to "${destination}", but not all of it could be removed afterwards. These stay: ` +
      `${first.join(', ')}${more}. They were changed meanwhile, or hold something that is not copied, such as a link.`,
  )
}

function halfway({ source, destination }: Places, cause: NodekeepError): NodekeepError {
  const message = `"${source}" was copied to "${destination}", but could not be removed afterwards: ${cause.message}`
  return new NodekeepError(cause.code, message, { cause, headers: cause.headers })
}
