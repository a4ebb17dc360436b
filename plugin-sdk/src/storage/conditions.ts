import type {
  StorageCapabilities,
  StorageConditions,
  StorageEntry,
  StorageKnowledge,
  StorageMoveOptions,
  StorageRemoveOptions,
} from '../contracts/storage.ts'
import { parentOf } from '../entry-paths.ts'
import { conflict, isNodekeepError, NodekeepError } from '../errors.ts'
import { driverError } from './driver-error.ts'

/** The calls that tell whether a change is possible, for drivers that do not check it in the step of the change. */
interface Files {
  stat(path: string): Promise<StorageEntry>
  list(path: string): AsyncIterable<unknown>
}

interface Known {
  readonly known?: StorageKnowledge
}

/** Throws if a write is not possible. Returns the file that it would replace; null if there is none. */
export async function checkWrite(
  files: Files,
  path: string,
  { known, ...conditions }: StorageConditions & Known,
): Promise<StorageEntry | null> {
  const entry = await destinationAt(files, path, known)
  refuseWrite(entry, conditions)
  return entry
}

/**
 * Throws if a file cannot be written at a path.
 *
 * @param entry what is there; null for nothing, and no file is above the path
 */
export function refuseWrite(entry: StorageEntry | null, { ifAbsent, ifRevision }: StorageConditions): void {
  if (ifAbsent && entry !== null) {
    throw new NodekeepError(
      'PRECONDITION_FAILED',
      'A file or folder exists at this path. Choose another path.',
    )
  }
  if (ifRevision !== undefined) refuseOtherRevision(entry, ifRevision)
  if (entry?.type === 'directory') throw conflict('A folder has this name. Choose another name for the file.')
}

/** Throws if a folder cannot be made. Returns whether it exists. */
export async function checkMakeDirectory(files: Files, path: string, { known }: Known): Promise<boolean> {
  const existing = await destinationAt(files, path, known)
  if (existing?.type === 'file') throw conflict('A file is at this path.')
  return existing !== null
}

/** Throws if a removal is not possible. Returns the entry that it removes. */
export async function checkRemove(
  files: Files,
  path: string,
  { ifRevision, onlyIfEmpty, known }: StorageRemoveOptions,
): Promise<StorageEntry> {
  const entry = known?.source ?? (await files.stat(path))
  if (ifRevision !== undefined) refuseOtherRevision(entry, ifRevision)
  if (onlyIfEmpty && (entry.type === 'file' || !(await isEmpty(files, path)))) throw notEmpty()
  return entry
}

/** The error for `onlyIfEmpty`. */
export function notEmpty(): NodekeepError {
  return conflict('This is not an empty folder. Remove its content first.')
}

/** Throws if source and destination of a move or a copy are equal, or one contains the other. The root contains all. */
export function refuseOverlap(source: string, destination: string): void {
  if (isWithin(destination, source) || isWithin(source, destination)) {
    throw conflict(
      'The destination is the source itself, is in it, or is a folder that contains it. Choose another destination.',
    )
  }
}

/** Throws if a move is not possible. A driver with `atomicConditions` checks the rest, and no driver without `atomicFolders` gets a folder. */
export async function checkMove(
  files: Files,
  source: string,
  destination: string,
  { overwrite, known }: StorageMoveOptions,
  { atomicConditions, atomicFolders }: StorageCapabilities,
): Promise<void> {
  if (atomicConditions && atomicFolders) return
  const moved = known?.source ?? (await files.stat(source))
  if (!atomicFolders && moved.type === 'directory') throw conflict('This is a folder. Move the files in it.')
  if (atomicConditions) return
  const replaced = await destinationAt(files, destination, known)
  if (replaced !== null && !overwrite)
    throw conflict(
      'A file or folder exists at the destination. Choose another destination, or ask to overwrite.',
    )
  if (!atomicFolders && replaced?.type === 'directory')
    throw conflict('A folder has this name. Choose another name for the file.')
}

/** Throws if a file cannot be copied. Returns its entry. */
export async function checkCopied(
  files: Files,
  path: string,
  ifRevision: string | undefined,
  known: StorageKnowledge | undefined,
): Promise<StorageEntry> {
  const entry = known?.source ?? (await files.stat(path))
  if (ifRevision !== undefined) refuseOtherRevision(entry, ifRevision)
  if (entry.type === 'directory') throw conflict('This is a folder. Copy the files in it.')
  return entry
}

/**
 * Returns the entry at the path of a new file or folder; null if there is none.
 *
 * @throws NodekeepError CONFLICT if a file is above the path
 */
async function destinationAt(
  files: Files,
  path: string,
  known: StorageKnowledge | undefined,
): Promise<StorageEntry | null> {
  if (known?.destination !== undefined) return known.destination
  const entry = await findEntry(files, path)
  if (entry === null) await refuseFileAbove(files, path)
  return entry
}

/** Returns the entry at a path; null if there is none. */
export async function findEntry(files: Files, path: string): Promise<StorageEntry | null> {
  try {
    return await files.stat(path)
  } catch (error) {
    if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
    throw driverError(error)
  }
}

function refuseOtherRevision(entry: StorageEntry | null, revision: string): void {
  if (entry?.type === 'file' && entry.revision === revision) return
  throw new NodekeepError(
    'PRECONDITION_FAILED',
    'The file was changed or removed meanwhile. Read it again, then repeat the change.',
  )
}

/** Throws if the nearest entry above a new path is a file. */
async function refuseFileAbove(files: Files, path: string): Promise<void> {
  await missingAbove(path, async (folder) => {
    const entry = await findEntry(files, folder)
    if (entry?.type === 'file') throw fileAbove()
    return entry !== null
  })
}

/**
 * Returns the paths above a new path where nothing is, the nearest first. They are found by bisection, because a path may have
 * 2,000 levels.
 */
export async function missingAbove(
  path: string,
  isThere: (folder: string) => Promise<boolean>,
): Promise<readonly string[]> {
  const above: string[] = []
  for (let folder = parentOf(path); folder !== '/'; folder = parentOf(folder)) above.push(folder)
  let missing = 0
  for (let [probed, end] = [0, above.length]; missing < end; probed = (missing + end) >> 1) {
    if (await isThere(above[probed] as string)) end = probed
    else missing = probed + 1
  }
  return above.slice(0, missing)
}

/** The error for a new path with a file above it. */
export function fileAbove(): NodekeepError {
  return conflict('A file has this name, where a folder is needed.')
}

async function isEmpty(files: Files, path: string): Promise<boolean> {
  for await (const _entry of files.list(path)) return false
  return true
}

function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`)
}
