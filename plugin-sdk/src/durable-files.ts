import {
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/*
 * Files that survive a power cut. Libraries such as write-file-atomic, atomically and steno replace a file as well, but do not sync
 * its folder: after a power cut, the former content may be back although the call has ended.
 *
 * The functions with `Sync` block the thread. They are for programs and steps that serve nobody meanwhile.
 */

/**
 * Only the account of the process may read the files, because some have secrets. The file is new: one that is there would keep its
 * mode, and a symbolic link would be followed.
 */
const options = { mode: 0o600, flush: true, flag: 'wx' }
const folderOptions = { recursive: true, mode: 0o700 } as const

/**
 * Replaces a file by a value as JSON, and makes the folders above it. A reader sees the former content or the new one, also after a
 * power cut. When the promise resolves, it is the new one. Only the account of the process may read the file.
 *
 * @param draft the file that is written first. A killed process leaves it behind, and the next call replaces it. Calls that run at a
 *   time, also those of other processes, need drafts of their own.
 * @throws errors of the file system. The file has its former content unless only the sync of its folder has failed.
 * @example await writeJson(join(context.dataDir, 'verdict.json'), { passed: true })
 */
export async function writeJson(file: string, value: unknown, draft = draftOf(file)): Promise<void> {
  await replaceFile(file, textOf(value), draft)
}

/** Like {@link writeJson}, for any content. */
export async function replaceFile(
  file: string,
  content: string | Uint8Array,
  draft = draftOf(file),
): Promise<void> {
  await makeFolder(dirname(file))
  try {
    await rm(draft, { force: true })
    await writeFile(draft, content, options)
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolder(dirname(file))
}

/** Like {@link writeJson}. It blocks the thread. */
export function writeJsonSync(file: string, value: unknown): void {
  makeFolderSync(dirname(file))
  const draft = draftOf(file)
  try {
    rmSync(draft, { force: true })
    writeFileSync(draft, textOf(value), options)
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  syncFolderSync(dirname(file))
}

/**
 * Reads a JSON file. The type is that of its writer: nothing is checked.
 *
 * @returns `null` if there is no file
 * @throws SyntaxError if the file is damaged; errors of the file system
 * @example const verdict = await readJson<Verdict>(file).catch(() => null) // A damaged file counts as none.
 */
export async function readJson<T>(file: string): Promise<T | null> {
  const text = await readFile(file, 'utf8').catch(nullIfMissing)
  return text === null ? null : parsed<T>(file, text)
}

/** Like {@link readJson}. It blocks the thread. */
export function readJsonSync<T>(file: string): T | null {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    return nullIfMissing(error)
  }
  return parsed<T>(file, text)
}

/** Returns the file that the writers leave behind if their process is killed. */
export function draftOf(file: string): string {
  return `${file}.new`
}

/** Brings the names in a folder to the disk: a new, renamed or removed entry survives a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  if (!canSyncFolders) return
  const handle = await open(folder, folderFlags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Like {@link syncFolder}. It blocks the thread. */
export function syncFolderSync(folder: string): void {
  if (!canSyncFolders) return
  const descriptor = openSync(folder, folderFlags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Makes a folder that only the account of the process may enter, and the folders above it, so that they survive a power cut. A
 * folder that exists stays as it is.
 *
 * @returns the uppermost folder that was made; `null` if the folder was there
 */
export async function makeFolder(folder: string): Promise<string | null> {
  const made = await mkdir(folder, folderOptions)
  for (const changed of parentsOf(folder, made)) await syncFolder(changed)
  return made ?? null
}

/** Like {@link makeFolder}. It blocks the thread. */
export function makeFolderSync(folder: string): void {
  for (const changed of parentsOf(folder, mkdirSync(folder, folderOptions))) syncFolderSync(changed)
}

/** Windows cannot open folders. Its file systems keep the order of such changes themselves. */
const canSyncFolders = process.platform !== 'win32'

/** A named pipe that has taken the place of a folder would wait for a writer. */
const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0)

/** Yields the folders with a new folder in them, from the inside to the outside. */
function* parentsOf(folder: string, made: string | undefined): Generator<string, void, undefined> {
  if (made === undefined) return
  for (let at = resolve(folder); at.length >= made.length; at = dirname(at)) yield dirname(at)
}

function textOf(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

function parsed<T>(file: string, text: string): T {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new SyntaxError(`${file} is damaged: it is not JSON`, { cause })
  }
}

function nullIfMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
  throw error
}
