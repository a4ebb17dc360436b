import {
  concurrently,
  conflict,
  invalid,
  isNodekeepError,
  type Log,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import type { CID } from 'multiformats/cid'
import { fileContent } from '../unixfs/file-blocks.ts'
import { NotUnixFs } from '../unixfs/unixfs-node.ts'
import { CarSpool } from './car-spool.ts'
import { type ImportCounts, planImport } from './import-plan.ts'
import { childPath, type PlannedEntries } from './planned-entries.ts'

/** Files that are written at a time. */
const filesAtOnce = 4

/** Names that are tried: `name`, `name (2)` … */
const mostNames = 1000

export interface CarImportOptions {
  readonly files: UserFiles
  /** The path of the folder that gets the file or folder. */
  readonly into: string
  /** The name of the file or folder; its CID by default. */
  readonly name: string | undefined
  readonly spoolFolder: string
  /** Bytes of the CAR, and bytes of the files in it. */
  readonly maxBytes: number
  readonly maxFileSize: number
  readonly log: Log
  readonly signal: AbortSignal
}

export interface CarImport extends ImportCounts {
  /** The path of the file or folder. */
  readonly path: string
  readonly cid: string
}

/**
 * Writes the file or folder of a CAR into a folder. It replaces nothing: a name that is taken gets a number. It writes all or nothing, as
 * far as the storage lets it remove what it has written.
 *
 * @throws NodekeepError NOT_FOUND if there is no such folder, VALIDATION_ERROR, PAYLOAD_TOO_LARGE, CONFLICT; errors of `UserFiles`; the
 *   reason of the signal
 */
export async function importCar(
  content: AsyncIterable<Uint8Array>,
  options: CarImportOptions,
): Promise<CarImport> {
  const { files, into, signal, maxBytes, maxFileSize, spoolFolder } = options
  const folder = await files.stat(into)
  if (folder.type !== 'directory') throw invalid(`"${folder.path}" is a file. Name a folder.`)
  const spool = await CarSpool.receive(content, { folder: spoolFolder, maxBytes })
  try {
    const name = options.name ?? String(spool.root)
    const path = await freePath(files, folder.path, name)
    const { entries, ...counts } = await planImport(spool, path, { maxBytes, maxFileSize }, signal)
    await writeAll(spool, entries, options)
    return { path, cid: String(spool.root), ...counts }
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof NotUnixFs ? invalid(error.message) : error
  } finally {
    await spool.discard()
  }
}

async function freePath(files: UserFiles, folder: string, name: string): Promise<string> {
  const [, stem = name, extension = ''] = /^(.+?)(\.[^.]{1,10})?$/s.exec(name) ?? []
  for (let number = 1; number <= mostNames; number += 1) {
    const path = childPath(folder, number === 1 ? name : `${stem} (${number})${extension}`)
    if ((await files.stat(path).catch(nullIfMissing)) === null) return path
  }
  throw conflict(`The folder has ${mostNames} entries that are named as "${name}". Choose another name.`)
}

function nullIfMissing(error: unknown): null {
  if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
  throw error
}

async function writeAll(
  spool: CarSpool,
  entries: PlannedEntries,
  { files, signal, log }: CarImportOptions,
): Promise<void> {
  try {
    for (const { path } of entries.of('folder')) {
      signal.throwIfAborted()
      await files.makeDirectory(path)
    }
    await concurrently(entries.of('file'), filesAtOnce, async (entry, failed) => {
      signal.throwIfAborted()
      const content = contentOf(spool, entry.cid, failed)
      const { revision } = await files.write(entry.path, content, {
        size: entry.size,
        ifAbsent: true,
        signal,
      })
      entries.noteRevision(entry, revision)
    })
  } catch (error) {
    await takeBack(entries, files, log)
    throw isTaken(error) ? conflict('Another program writes into the folder. Try again.') : error
  }
}

async function* contentOf(
  spool: CarSpool,
  root: CID,
  failed: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const content of fileContent((cid) => spool.get(cid), root)) {
    failed.throwIfAborted()
    yield content
  }
}

/** The name was free a moment ago. */
function isTaken(error: unknown): boolean {
  return isNodekeepError(error) && error.code === 'PRECONDITION_FAILED'
}

/** Removes what was written, and nothing that another program has put there or changed since. */
async function takeBack(entries: PlannedEntries, files: UserFiles, log: Log): Promise<void> {
  for (const { path, revision } of entries.written()) {
    const options = revision === null ? { onlyIfEmpty: true } : { ifRevision: revision }
    await files.remove(path, options).catch((error) => {
      if (!(isNodekeepError(error) && error.code === 'NOT_FOUND'))
        log.warn({ err: error, path }, 'A file or folder of a failed import stays.')
    })
  }
}
