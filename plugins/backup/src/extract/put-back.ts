import { createReadStream, type Dirent, fstatSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  type FileChangeOptions,
  type FilesService,
  isNodekeepError,
  NodekeepError,
  nameOf,
  parentOf,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import { withShortPath } from '@nodekeep/plugin-sdk/archive'
import type { ExtractedUserFile } from '../archive/user-files.ts'

/** Bytes of a name that every storage takes. */
const maxNameBytes = 255

interface PutBack {
  readonly files: Pick<FilesService, 'for'>
  /** The folder with what was extracted. */
  readonly folder: string
  readonly extracted: ExtractedUserFile
  /** Where it was. */
  readonly path: string
  /** The moment of the backup. */
  readonly moment: Date
  /** The origin of the changes, in the journal. */
  readonly origin: FileChangeOptions
  readonly signal: AbortSignal
}

/**
 * Puts a file or a folder back into the files of its user: at its path, or beside what is there now, under a name with the date of the
 * backup. It replaces nothing. When it fails in the middle of a folder, what was put back stays, and the message names it.
 *
 * @returns the path
 * @throws errors of the files
 */
export async function putBack({
  files,
  folder,
  extracted,
  path,
  moment,
  origin,
  signal,
}: PutBack): Promise<string> {
  const of = files.for({ uuid: extracted.userUuid }, origin)
  const target = await freePath(of, path, moment)
  const source = join(folder, extracted.name)
  if (extracted.type === 'file') {
    await writeFile(of, source, target, signal)
    return target
  }
  try {
    await writeFolder(of, source, target, signal)
    return target
  } catch (error) {
    if (!isNodekeepError(error)) throw error
    throw new NodekeepError(error.code, `${error.message} A part of the folder is at ${target}.`, {
      cause: error,
    })
  }
}

async function writeFile(of: UserFiles, source: string, target: string, signal: AbortSignal): Promise<void> {
  const descriptor = withShortPath(source, (short) => openSync(short, 'r'))
  const { size, mtime } = fstatSync(descriptor)
  const content = createReadStream('', { fd: descriptor })
  try {
    await of.write(target, content, { size, modified: mtime, ifAbsent: true, signal })
  } finally {
    content.destroy()
  }
}

async function writeFolder(
  of: UserFiles,
  source: string,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  await of.makeDirectory(target)
  const entries: Dirent[] = withShortPath(source, (short) => readdirSync(short, { withFileTypes: true }))
  for (const entry of entries) {
    signal.throwIfAborted()
    const [from, to] = [join(source, entry.name), `${target}/${entry.name}`]
    await (entry.isDirectory() ? writeFolder : writeFile)(of, from, to, signal)
  }
}

/** Returns the path, or the first one beside it where nothing is. */
async function freePath(of: UserFiles, path: string, moment: Date): Promise<string> {
  const [folder, name, date] = [parentOf(path), nameOf(path), moment.toISOString().slice(0, 10)]
  let free = path
  for (let count = 1; await exists(of, free); count++) {
    const mark = count === 1 ? ` (backup ${date})` : ` (backup ${date}, ${count})`
    free = `${folder === '/' ? '' : folder}/${marked(name, mark)}`
  }
  return free
}

/** Puts a mark before the extension of a name. A long name loses the end of its stem. */
function marked(name: string, mark: string): string {
  const dot = name.lastIndexOf('.')
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  const letters = [...stem]
  while (Buffer.byteLength(letters.join('') + mark + extension) > maxNameBytes && letters.length > 0)
    letters.pop()
  return letters.join('') + mark + extension
}

async function exists(of: UserFiles, path: string): Promise<boolean> {
  try {
    await of.stat(path)
    return true
  } catch (error) {
    if (isNodekeepError(error) && error.code === 'NOT_FOUND') return false
    throw error
  }
}
