import { setImmediate as nextTurn } from 'node:timers/promises'
import { concurrently, type FileRemoveOptions, isNodekeepError } from '@nodekeep/plugin-sdk'
import type { KeptEntry } from '../entries/kept-reader.ts'
import type { KnownEntry } from '../entries/known-entry.ts'
import { keepsDeleted } from '../operations/keeping.ts'
import { remove } from '../operations/removal.ts'
import type { Scope } from '../operations/scope.ts'
import type { UserPath } from '../paths/user-path.ts'
import { removeKept } from './kept-entries.ts'

/** Versions of a file that are read at a time, and kept entries that are looked at. Reading is synchronous. */
const pageRows = 300

/** Versions that are removed at a time. */
const removalsAtOnce = 16

/** Removes a file or folder, as `remove` does. If it goes for good, so do the versions of its files. */
export async function removeWithVersions(
  scope: Scope,
  path: UserPath,
  options: FileRemoveOptions = {},
): Promise<void> {
  const { journal, keeping, userUuid } = scope
  const isKept = options.permanent !== true && keepsDeleted(keeping, scope.locate(path).backend)
  if (isKept || options.onlyIfEmpty === true) return remove(scope, path, options)
  const entry = (await journal.entriesOf(userUuid)).at(userUuid, path)
  await remove(scope, path, options)
  if (entry !== null) await removeVersionsOf(scope, entry)
}

/** Removes the versions of a file, or of all files in a folder, that is gone for good. The purge removes those that are left. */
export async function removeVersionsOf(
  scope: Scope,
  { id, type }: Pick<KnownEntry, 'id' | 'type'>,
): Promise<void> {
  if (type === 'directory') return removeVersionsOfGone(scope)
  const { journal, userUuid } = scope
  const silent = new Set<string>()
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const versions = (await journal.keptOf(userUuid)).versions(userUuid, id, pageRows, before)
    const last = versions.at(-1)
    if (last === undefined) return
    before = last.number
    await removeAll(scope, versions, silent)
  }
}

/** Removes all versions of a user whose files are gone for good. The purge removes those that are left. */
export async function removeVersionsOfGone(scope: Scope): Promise<void> {
  const { journal, userUuid } = scope
  const silent = new Set<string>()
  for (let after = 0; ; await nextTurn()) {
    const rows = (await journal.keptOf(userUuid)).oldest(userUuid, after, pageRows)
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.number
    const entries = await journal.entriesOf(userUuid)
    const ofGone = rows.filter(({ of }) => of !== null && entries.placeOf(of) === null)
    await removeAll(scope, ofGone, silent)
  }
}

/** @param silent storages that do not answer, which are left alone */
async function removeAll(scope: Scope, versions: readonly KeptEntry[], silent: Set<string>): Promise<void> {
  await concurrently(versions, removalsAtOnce, async (version) => {
    if (silent.has(version.storage)) return
    await removeKept(scope, version).catch((error) => {
      if (!isNodekeepError(error)) throw error
      if (error.code !== 'NOT_FOUND') silent.add(version.storage)
    })
  })
}
