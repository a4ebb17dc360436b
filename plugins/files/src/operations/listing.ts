import {
  type FileListEntry,
  isNodekeepError,
  type StorageListEntry,
  type StorageListOptions,
} from '@nodekeep/plugin-sdk'
import { createdIf } from '../entries/created-date.ts'
import { childOf, type UserPath } from '../paths/user-path.ts'
import { explain } from './path-errors.ts'
import { mountEntry } from './reading.ts'
import type { Scope } from './scope.ts'

/** Dates that a listing holds. Its reader may take any time. */
const mostDates = 250

/** The entries of a folder, sorted by name, with the mounts that are in it. */
export async function* list(
  scope: Scope,
  folder: UserPath,
  options: StorageListOptions = {},
): AsyncGenerator<FileListEntry, void, undefined> {
  const { mounts } = scope
  // Sorted, to be merged with the backend's entries, which are sorted too.
  const { after } = options
  const names = [...mounts.namesIn(folder)].filter((name) => after === undefined || name > after).sort()
  // A page needs few of the dates. A whole listing gets them at once, unless they are many.
  const created =
    after === undefined ? await scope.journal.createdIn(scope.userUuid, folder, mostDates) : null
  for await (const entry of listBackend(scope, folder, options)) {
    while (names[0] !== undefined && names[0] < entry.name) yield mounted(names.shift() as string)
    const path = childOf(folder, entry.name)
    if (entry.name === names[0]) {
      names.shift()
      if (mounts.isPoint(path) || entry.type === 'file') {
        yield mountEntry(scope, path)
        continue
      }
    }
    if (entry.type === 'directory') yield { ...entry, path }
    else if (created === null)
      yield listedFile(path, entry, await scope.journal.createdOf(scope.userUuid, path, entry))
    else yield listedFile(path, entry, createdIf(created.get(entry.name), entry))
  }
  for (const name of names) yield mounted(name)

  function mounted(name: string): FileListEntry {
    return mountEntry(scope, childOf(folder, name))
  }
}

/**
 * @param known the date of creation by the journal. The journal knows most dates by the revision of the file, so without a revision, the
 *   date of the storage may be that of an overwrite
 */
function listedFile(path: UserPath, entry: StorageListEntry, known: Date | null): FileListEntry {
  const { created: ofStorage, ...rest } = entry
  const created = known ?? (entry.revision === undefined ? undefined : ofStorage)
  return { ...rest, path, ...(created && { created }) }
}

async function* listBackend(
  scope: Scope,
  folder: UserPath,
  options: StorageListOptions,
): AsyncGenerator<StorageListEntry, void, undefined> {
  let begun = false
  try {
    const { backend, backendPath } = scope.locate(folder)
    for await (const entry of backend.list(backendPath, options)) {
      begun = true
      yield entry
    }
  } catch (error) {
    if (!begun && isEmptyMount(scope, folder, error)) return
    throw await explain(scope, folder, error, 'directory')
  }
}

/** Whether a folder that the backend does not have exists because of a mount. */
function isEmptyMount({ mounts }: Scope, folder: UserPath, error: unknown): boolean {
  if (!isNodekeepError(error)) return false
  if (mounts.isPoint(folder)) return error.code === 'NOT_FOUND'
  return mounts.holdsMount(folder)
}
