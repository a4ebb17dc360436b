import {
  type ErrorCode,
  type FileEntry,
  isNodekeepError,
  NodekeepError,
  type UserFiles,
  type WasmPreopen,
} from '@nodekeep/plugin-sdk'
import type { Revisions } from './copy-in.ts'
import { Turn } from './turn.ts'

/** A file or folder that a program stored. */
interface StoredEntry {
  /** Relative to the folder. */
  readonly path: string
  /** Null for a folder. */
  readonly content: Buffer | null
  /** The time that a file gets. */
  readonly modified: Date
}

/** The changes of a program in a folder. */
export interface ChangedFolder {
  readonly preopen: WasmPreopen
  /** Revisions of the files that were copied in. */
  readonly revisions: Revisions
  /** Removed files and folders, with all that was in them. Relative to the folder. */
  readonly removed: readonly string[]
  /** Folders come before their contents. */
  readonly stored: readonly StoredEntry[]
}

/** The origin of the changes, for the change log. */
const by = 'wasm'

/** Failures that the program caused. Their codes would blame the request. */
const causedByProgram: readonly ErrorCode[] = ['VALIDATION_ERROR', 'NOT_FOUND', 'CONFLICT']

/**
 * Stores a program's changes in the user's files. If anything that the program changed was changed by another party
 * meanwhile, none of the program's changes is stored. If a step fails, the steps before it stay done.
 *
 * @param exitCode of the program, for messages
 * @param late aborts at the time limit. It ends the search for changes of other parties, and no storing: that would leave
 * a part of the changes.
 * @throws NodekeepError PRECONDITION_FAILED for a change by another party, UNPROCESSABLE for a change that cannot be
 * stored, and other failures of the files
 */
export async function writeBack(
  folders: readonly ChangedFolder[],
  exitCode: number,
  late: AbortSignal,
): Promise<void> {
  const ended = `The program ended with exit code ${exitCode}, but`
  await saying(`${ended} none of its changes was stored:`, async () => {
    for (const folder of folders) await checkUnchanged(folder, late)
  })
  await saying(`${ended} not all of its changes could be stored:`, async () => {
    for (const step of stepsOf(folders)) await step()
  })
}

/**
 * Removals come last: a removed file may have been moved, and its new copy be the only one that is left. The exception is
 * a file that replaces a folder, or a folder that replaces a file.
 */
function stepsOf(folders: readonly ChangedFolder[]): (() => Promise<void>)[] {
  const steps = folders.map((folder) => {
    const replaced = isReplaced(folder)
    return {
      stores: folder.stored.map((entry) => ({
        isLate: replaced(entry.path),
        take: () => store(folder, entry),
      })),
      // Folders are listed before their contents, and must be removed after them.
      removals: folder.removed
        .toReversed()
        .map((path) => ({ isLate: !replaced(path), take: () => remove(folder, path) })),
    }
  })
  const stores = steps.flatMap((each) => each.stores)
  const removals = steps.flatMap((each) => each.removals)
  return [false, true]
    .flatMap((late) => [stores, removals].flatMap((kind) => kind.filter(({ isLate }) => isLate === late)))
    .map(({ take }) => take)
}

async function store(folder: ChangedFolder, { path, content, modified }: StoredEntry): Promise<void> {
  const { files } = folder.preopen
  if (content === null) {
    await files.makeDirectory(pathIn(folder, path), { by })
    return
  }
  const ifRevision = folder.revisions.get(path)
  const condition = ifRevision === undefined ? { ifAbsent: true } : { ifRevision }
  const { length: size } = content
  await files.write(pathIn(folder, path), once(content), { by, size, modified, ...condition })
}

/** Removes a file in the revision that the program saw, or a folder that is empty. */
async function remove(folder: ChangedFolder, path: string): Promise<void> {
  const ifRevision = folder.revisions.get(path)
  const condition = ifRevision === undefined ? { onlyIfEmpty: true } : { ifRevision }
  try {
    await folder.preopen.files.remove(pathIn(folder, path), { by, ...condition })
  } catch (error) {
    // Another party may have removed it, too.
    if (!isNodekeepError(error) || error.code !== 'NOT_FOUND') throw error
  }
}

async function saying(what: string, step: () => Promise<void>): Promise<void> {
  try {
    await step()
  } catch (error) {
    if (!isNodekeepError(error)) throw error
    const { code, message, headers } = error
    throw new NodekeepError(causedByProgram.includes(code) ? 'UNPROCESSABLE' : code, `${what} ${message}`, {
      cause: error,
      headers,
    })
  }
}

async function* once(content: Buffer): AsyncGenerator<Uint8Array> {
  if (content.length > 0) yield content
}

/**
 * Checks that everything that a program changed is still as the program found it, parent folders included.
 *
 * @throws NodekeepError PRECONDITION_FAILED when another party changed any of it, VALIDATION_ERROR for a path that
 * files cannot have, and the signal's reason
 */
async function checkUnchanged(folder: ChangedFolder, late: AbortSignal): Promise<void> {
  const { preopen, revisions, removed, stored } = folder
  const { files } = preopen
  const turn = new Turn()
  const gone = new Set(removed)
  if (removed.length + stored.length > 0) await expectFolder(files, preopen.path)
  for (const path of removed) {
    await turn.mayEnd(late)
    const entry = await entryAt(files, pathIn(folder, path))
    const revision = revisions.get(path)
    if (entry === null) continue
    if (revision !== undefined) expect(entry.revision === revision, entry.path)
    else {
      expect(entry.type === 'directory', entry.path)
      for await (const { name, path: inside } of files.list(entry.path)) {
        await turn.mayEnd(late)
        expect(gone.has(`${path}/${name}`), inside)
      }
    }
  }
  for (const { path, content } of stored) {
    if (gone.has(path)) continue
    await turn.mayEnd(late)
    const entry = await entryAt(files, pathIn(folder, path))
    const isExpected = content === null ? entry?.type !== 'file' : entry?.revision === revisions.get(path)
    expect(isExpected, pathIn(folder, path))
  }
  for (const path of parentsOf(stored)) {
    await turn.mayEnd(late)
    await expectFolder(files, pathIn(folder, path))
  }
}

/** Existing folders that the program put something into. Storing would create those again that are gone. */
function parentsOf(stored: ChangedFolder['stored']): Set<string> {
  const parents = new Set<string>()
  for (const { path } of stored) {
    let parent = parentOf(path)
    // The folders above a known one are known as well.
    while (parent !== null && !parents.has(parent)) {
      parents.add(parent)
      parent = parentOf(parent)
    }
  }
  return parents.difference(new Set(stored.map(({ path }) => path)))
}

async function expectFolder(files: UserFiles, path: string): Promise<void> {
  expect((await entryAt(files, path))?.type === 'directory', path)
}

function expect(isUnchanged: boolean, path: string): void {
  if (isUnchanged) return
  throw new NodekeepError('PRECONDITION_FAILED', `"${path}" was changed by another party meanwhile.`)
}

async function entryAt(files: UserFiles, path: string): Promise<FileEntry | null> {
  try {
    return await files.stat(path)
  } catch (error) {
    if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
    throw error
  }
}

/** The path among the user's files. */
function pathIn({ preopen: { path: folder } }: ChangedFolder, path: string): string {
  return folder === '/' ? `/${path}` : `${folder}/${path}`
}

/** Whether a folder became a file at the path or above it, or a file a folder. Then the removal must come first. */
function isReplaced({ removed, stored }: ChangedFolder): (path: string) => boolean {
  const gone = new Set(removed)
  /** Whether it is so, by path. Each path of a deep tree is looked at once. */
  const known = new Map(stored.filter(({ path }) => gone.has(path)).map(({ path }) => [path, true]))
  if (known.size === 0) return () => false
  return (path) => {
    const above: string[] = []
    let found: string | null = path
    for (; found !== null && !known.has(found); found = parentOf(found)) above.push(found)
    const replaced = found !== null && known.get(found) === true
    for (const each of above) known.set(each, replaced)
    return replaced
  }
}

/** The path of the folder that a path is in; null for one directly below the opened folder. */
function parentOf(path: string): string | null {
  const end = path.lastIndexOf('/')
  return end < 0 ? null : path.slice(0, end)
}
