import type {
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
  { ifAbsent, ifRevision, known }: StorageConditions & Known,
): Promise<StorageEntry | null> {
  const entry = await destinationAt(files, path, known)
  if (ifAbsent && entry !== null) {
    throw new NodekeepError(
      'PRECONDITION_FAILED',
      'A file or folder exists at this path. Choose another path.',
    )
  }
  if (ifRevision !== undefined) refuseOtherRevision(entry, ifRevision)
  if (entry?.type === 'directory') throw conflict('A folder has this name. Choose another name for the file.')
  return entry
}

/** Throws if a folder cannot be made. Returns whether it exists. */
export async function checkMakeDirectory(files: Files, path: string, { known }: Known): Promise<boolean> {
  const existing = await destinationAt(files, path, known)
  if (existing?.type === 'file') throw conflict('A file is at this path.')
  return existing !== null
}

/** Throws if a removal is not possible. */
export async function checkRemove(
  files: Files,
  path: string,
  { ifRevision, onlyIfEmpty, known }: StorageRemoveOptions,
): Promise<void> {
  const entry = known?.source ?? (await files.stat(path))
  if (ifRevision !== undefined) refuseOtherRevision(entry, ifRevision)
  if (onlyIfEmpty && (entry.type === 'file' || !(await isEmpty(files, path))))
    throw conflict('This is not an empty folder. Remove its content first.')
}

/** Throws if source and destination of a move or a copy are equal, or one contains the other. The root contains all. */
export function refuseOverlap(source: string, destination: string): void {
  if (isWithin(destination, source) || isWithin(source, destination)) {
    throw conflict(
      'The destination is the source itself, is in it, or is a folder that contains it. Choose another destination.',
    )
  }
}

/** Throws if a move is not possible. */
export async function checkMove(
  files: Files,
  source: string,
  destination: string,
  { overwrite, known }: StorageMoveOptions,
): Promise<void> {
  if (known?.source === undefined) await files.stat(source)
  const replaced = await destinationAt(files, destination, known)
  if (replaced !== null && !overwrite)
    throw conflict(
      'A file or folder exists at the destination. Choose another destination, or ask to overwrite.',
    )
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

/** Throws if the nearest entry above a new path is a file. It is found by bisection, because a path may have 2,000 levels. */
async function refuseFileAbove(files: Files, path: string): Promise<void> {
  const above: string[] = []
  for (let folder = parentOf(path); folder !== '/'; folder = parentOf(folder)) above.push(folder)
  let nearest = 0
  for (let [probed, end] = [0, above.length]; nearest < end; probed = (nearest + end) >> 1) {
    const entry = await findEntry(files, above[probed] as string)
    if (entry?.type === 'file') throw conflict('A file has this name, where a folder is needed.')
    if (entry === null) nearest = probed + 1
    else end = probed
  }
}

async function isEmpty(files: Files, path: string): Promise<boolean> {
  for await (const _entry of files.list(path)) return false
  return true
}

function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`)
}
