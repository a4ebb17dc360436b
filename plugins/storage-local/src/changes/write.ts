import {
  NodekeepError,
  type StorageConditions,
  type StorageEntry,
  type StorageWriteOptions,
} from '@nodekeep/plugin-sdk'
import { ForeignFailure, isDiskError } from '../disk/disk-errors.ts'
import { type Folder, findSync } from '../folders/folder.ts'
import { storedForms } from '../folders/stored-names.ts'
import { walk } from '../folders/walk.ts'
import { entryOf, revisionOf } from '../reading/entry.ts'
import { folderThere, otherRevision } from './obstacles.ts'
import { persist, placeFolders } from './placing.ts'
import { type StagedFile, stage } from './staging.ts'
import type { Store } from './store.ts'

/** Above this size, or when it isn't known, a write that can't succeed is refused before its bytes come. In bytes. */
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
  try {
    for (const signal of signals) signal.throwIfAborted()
    await store.locks.hold([names.join('/')], () => change(() => commit(store, names, staged, options)))
  } catch (error) {
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
  const announce = () => {
    announced ??= announcing(staged, options)
    return announced
  }
  await persist(async () => {
    const reached = await walk(disk, root, parents)
    const { folder } = reached
    try {
      const isThere = reached.missing.length === 0
      const stored = goesUnseen(name, options) ? name : target(store, isThere ? folder : null, name, options)
      if (isThere) {
        await announce()
        const to = folder.at(stored)
        await (options.ifAbsent ? placeWhereFree(store, from, to) : disk.rename(from, to))
        await syncs.settle(parents, folder)
        return true
      }
    } finally {
      folder.close()
    }
    return placeFolders(store, reached, {
      put: (innermost) => disk.rename(from, innermost.at(name)),
      announce,
      takeBack: (innermost) => disk.rename(innermost.at(name), from),
    })
  })
}

async function announcing({ stats }: StagedFile, { beforeCommit }: StorageWriteOptions): Promise<void> {
  try {
    await beforeCommit?.({ revision: revisionOf(stats), size: Number(stats.size) })
  } catch (failure) {
    throw new ForeignFailure(failure)
  }
}

/**
 * The name to write to: that of the file which is there, or the given one. A link or a special file is replaced.
 *
 * @param folder null when there is none yet
 * @throws NodekeepError when a folder is there, or the conditions don't hold
 */
function target({ disk }: Store, folder: Folder | null, name: string, conditions: StorageConditions): string {
  const { ifAbsent = false, ifRevision } = conditions
  const found = folder && findSync(disk, folder, name)
  if (ifAbsent && found !== null) throw taken()
  if (found?.stats.isDirectory()) throw folderThere()
  if (ifRevision !== undefined && (found === null || revisionOf(found.stats) !== ifRevision))
    throw otherRevision()
  return found?.stored ?? name
}

/** Whether the rename alone does what is asked for: it fails by itself where a folder is. */
function goesUnseen(name: string, { ifAbsent, ifRevision }: StorageConditions): boolean {
  return !ifAbsent && ifRevision === undefined && storedForms(name).length === 1
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
