import type { StorageConditions, StorageDriverWriteOptions, StorageEntry } from '@nodekeep/plugin-sdk'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, type Found, findSync } from '../folders/folder.ts'
import { namesOf, walk } from '../folders/walk.ts'
import { entryOf, revisionOf } from '../reading/entry.ts'
import { alreadyExists, folderInTheWay, otherRevision } from './conflicts.ts'
import { openKeptPlace, renameOver } from './kept-place.ts'
import { makeMissing, retryWhileChanging } from './parent-folders.ts'
import type { RecordedChanges } from './recorded-changes.ts'
import { type StagedFile, stage } from './staged-file.ts'
import type { Store } from './store.ts'

/** Up to this size, a write that cannot succeed is refused only at its last step. In bytes. */
const maxUncheckedBytes = 64 * 1024

/** A write of a stream to the file with these names. */
interface Writing {
  readonly names: readonly string[]
  readonly content: AsyncIterable<Uint8Array>
  readonly options: StorageDriverWriteOptions
}

/** Receives a file in the staging folder, then renames it to its path. */
export async function writeFile(
  store: Store,
  changes: RecordedChanges,
  { names, content, options }: Writing,
): Promise<StorageEntry> {
  const { size, ifAbsent, ifRevision, keepReplacedAt } = options
  if (ifAbsent || ifRevision !== undefined || (size ?? Number.POSITIVE_INFINITY) > maxUncheckedBytes) {
    await checkEarly(store, names, options)
  }
  const staged = await stage(store, content, options)
  // The last step reports its failure.
  staged.durable.catch(() => {})
  try {
    await store.locks.run([names.join('/')], () =>
      changes.run(keepReplacedAt === undefined ? [names] : [names, namesOf(keepReplacedAt)], (onApplied) =>
        commit(store, { names, staged, options, onApplied }),
      ),
    )
  } catch (error) {
    await staged.durable.catch(() => {})
    await store.disk.unlink(store.staging.at(staged.name)).catch(() => {})
    throw error
  }
  return entryOf(names.at(-1) ?? '', staged.stats) as StorageEntry
}

/** Refuses a write that cannot succeed before its content is received. */
async function checkEarly(
  store: Store,
  names: readonly string[],
  conditions: StorageConditions,
): Promise<void> {
  const { folder, missing } = await walk(store.disk, store.root, names.slice(0, -1))
  try {
    findTarget(store, missing.length === 0 ? folder : null, names.at(-1) ?? '', conditions)
  } finally {
    folder.close()
  }
}

interface Commit {
  readonly names: readonly string[]
  readonly staged: StagedFile
  readonly options: StorageDriverWriteOptions
  /** Called when the file is at its path. */
  readonly onApplied: () => void
}

async function commit(store: Store, { names, staged, options, onApplied }: Commit): Promise<void> {
  const { disk, root, staging, syncs } = store
  const parents = names.slice(0, -1)
  const name = names.at(-1) ?? ''
  const from = staging.at(staged.name)
  let announced: Promise<void> | undefined
  const announce = async (found: Found | null) => {
    const replaced = found && entryOf(name, found.stats)
    announced ??= options.beforeCommit({ revision: revisionOf(staged.stats), replaced })
    // One after the other: if the sync fails, the write must not end while `beforeCommit` is still running.
    await announced
    await staged.durable
  }
  await retryWhileChanging(async () => {
    const walked = await walk(disk, root, parents)
    const { folder, missing } = walked
    try {
      const found = findTarget(store, missing.length === 0 ? folder : null, name, options)
      await announce(found)
      if (missing.length > 0) {
        await makeMissing(disk, walked)
        return null
      }
      const to = folder.at(found?.stored ?? name)
      const keptAt = found?.stats.isFile() ? options.keepReplacedAt : undefined
      using place = keptAt === undefined ? null : await openKeptPlace(store, keptAt)
      await (options.ifAbsent ? renameIfAbsent(store, from, to) : renameOver(store, from, to, place))
      onApplied()
      await Promise.all([place?.makeDurable(), syncs.makeDurable(parents, folder)])
      return true
    } finally {
      folder.close()
    }
  })
}

/**
 * Returns the entry that the write will replace, null if there is none. It may be a link or a special file.
 *
 * @param folder null if it does not exist yet
 * @throws NodekeepError if the entry is a folder, or the conditions are not met
 */
function findTarget(
  { disk }: Store,
  folder: Folder | null,
  name: string,
  conditions: StorageConditions,
): Found | null {
  const { ifAbsent = false, ifRevision } = conditions
  const found = folder && findSync(disk, folder, name)
  if (ifAbsent && found !== null) throw alreadyExists()
  const isFolder = found?.stats.isDirectory() ?? false
  if (ifRevision !== undefined && (found === null || isFolder || revisionOf(found.stats) !== ifRevision))
    throw otherRevision()
  if (isFolder) throw folderInTheWay()
  return found
}

/** A rename would replace an entry that another program has just made. A hard link does not. */
async function renameIfAbsent({ disk, hasLinks }: Store, from: string, to: string): Promise<void> {
  // Without hard links, the check under the lock has to do.
  if (!hasLinks) return disk.rename(from, to)
  await disk.link(from, to).catch((error: unknown) => {
    throw isDiskError(error, 'EEXIST') ? alreadyExists() : error
  })
  await disk.unlink(from)
}
