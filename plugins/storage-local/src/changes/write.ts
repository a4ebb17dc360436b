import {
  NodekeepError,
  type StorageConditions,
  type StorageEntry,
  type StorageWriteOptions,
} from '@nodekeep/plugin-sdk'
import { ForeignFailure, isDiskError } from '../disk/disk-errors.ts'
import { type Folder, type Found, findSync } from '../folders/folder.ts'
import { walk } from '../folders/walk.ts'
import { entryOf, revisionOf } from '../reading/entry.ts'
import { folderThere, otherRevision } from './obstacles.ts'
import { persist, placeFolders } from './placing.ts'
import { type StagedFile, stage } from './staging.ts'
import type { Store } from './store.ts'

/** Above this size, or when it isn't known, a write that cannot succeed is refused before its bytes come. In bytes. */
const LOOK_FIRST = 64 * 1024

/** What a write of a stream to the file with these names needs. */
export interface Writing {
  readonly names: readonly string[]
  readonly content: AsyncIterable<Uint8Array>
  readonly options: StorageWriteOptions
  readonly signals: readonly AbortSignal[]
  /** Runs the last step when no snapshot is being made. */
  readonly change: <T>(run: () => Promise<T>) => Promise<T>
}

/** Receives a file, then puts it in its place. */
export async function writeFile(store: Store, writing: Writing): Promise<StorageEntry> {
  const { names, content, options, signals, change } = writing
  const { size, freeChunks = false, ifAbsent, ifRevision } = options
  if (ifAbsent || ifRevision !== undefined || (size ?? Number.POSITIVE_INFINITY) > LOOK_FIRST) {
    await lookFirst(store, names, options)
  }
  const staged = await stage(store, { content, size, freeChunks, signals })
  // Its failure counts before the last step.
  staged.durable.catch(() => {})
  try {
    for (const signal of signals) signal.throwIfAborted()
    await store.locks.hold([names.join('/')], () => change(() => commit(store, names, staged, options)))
  } catch (error) {
    await staged.durable.catch(() => {})
    await store.disk.unlink(store.side.at(staged.name)).catch(() => {})
    throw error
  }
  return entryOf(names.at(-1) ?? '', staged.stats) as StorageEntry
}

async function lookFirst(
  store: Store,
  names: readonly string[],
  conditions: StorageConditions,
): Promise<void> {
  const { folder, missing } = await walk(store.disk, store.root, names.slice(0, -1))
  try {
    target(store, missing.length === 0 ? folder : null, names.at(-1) ?? '', conditions)
  } finally {
    folder.close()
  }
}

async function commit(
  store: Store,
  names: readonly string[],
  staged: StagedFile,
  options: StorageWriteOptions,
): Promise<void> {
  const { disk, root, side, syncs } = store
  const parents = names.slice(0, -1)
  const name = names.at(-1) ?? ''
  const from = side.at(staged.name)
  let announced: Promise<void> | undefined
  const announce = async (found: Found | null) => {
    announced ??= announcing(staged, found && entryOf(name, found.stats), options)
    // Not whichever fails first: a write must not end while somebody is still noting that it is about to happen.
    await announced
    await staged.durable
  }
  await persist(async () => {
    const reached = await walk(disk, root, parents)
    const { folder } = reached
    try {
      const isThere = reached.missing.length === 0
      const found = target(store, isThere ? folder : null, name, options)
      if (isThere) {
        await announce(found)
        const to = folder.at(found?.stored ?? name)
        await (options.ifAbsent ? placeWhereFree(store, from, to) : disk.rename(from, to))
        await syncs.settle(parents, folder)
        return true
      }
    } finally {
      folder.close()
    }
    return placeFolders(store, reached, {
      put: (innermost) => disk.rename(from, innermost.at(name)),
      announce: () => announce(null),
      takeBack: (innermost) => disk.rename(innermost.at(name), from),
    })
  })
}

async function announcing(
  { stats }: StagedFile,
  replaced: StorageEntry | null,
  { beforeCommit }: StorageWriteOptions,
): Promise<void> {
  try {
    await beforeCommit?.({ revision: revisionOf(stats), size: Number(stats.size), replaced })
  } catch (failure) {
    throw new ForeignFailure(failure)
  }
}

/**
 * What the write will replace, null when nothing is there. That may be a link or a special file.
 *
 * @param folder null when there is none yet
 * @throws NodekeepError when a folder is there, or the conditions don't hold
 */
function target(
  { disk }: Store,
  folder: Folder | null,
  name: string,
  conditions: StorageConditions,
): Found | null {
  const { ifAbsent = false, ifRevision } = conditions
  const found = folder && findSync(disk, folder, name)
  if (ifAbsent && found !== null) throw taken()
  if (found?.stats.isDirectory()) throw folderThere()
  if (ifRevision !== undefined && (found === null || revisionOf(found.stats) !== ifRevision))
    throw otherRevision()
  return found
}

/** A rename replaces what is there; a link doesn't. */
async function placeWhereFree({ disk, hasLinks }: Store, from: string, to: string): Promise<void> {
  // The look a moment ago, under the lock, must do where there are no links.
  if (!hasLinks) return disk.rename(from, to)
  await disk.link(from, to).catch((error: unknown) => {
    throw isDiskError(error, 'EEXIST') ? taken() : error
  })
  await disk.unlink(from)
}

function taken(): NodekeepError {
  return new NodekeepError('PRECONDITION_FAILED', 'Something exists at this path already.')
}
