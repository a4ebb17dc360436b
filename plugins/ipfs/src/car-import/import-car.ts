import {
  concurrently,
  conflict,
  invalid,
  isNodekeepError,
  type Log,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import { CID } from 'multiformats/cid'
import { fileContent } from '../unixfs/file-blocks.ts'
import { NotUnixFs } from '../unixfs/unixfs-node.ts'
import { CarSpool } from './car-spool.ts'
import { childPath, type ImportCounts, type PlannedEntry, planImport } from './import-plan.ts'

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
    const counts = await planImport(spool, path, { maxBytes, maxFileSize }, signal)
    await writeAll(spool, options)
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

async function writeAll(spool: CarSpool, { files, signal, log }: CarImportOptions): Promise<void> {
  const note = spool.index.prepare('UPDATE entry SET revision = ? WHERE id = ?')
  const write = async ({ id, path, kind, cid, size }: PlannedEntry, failed: AbortSignal) => {
    signal.throwIfAborted()
    if (kind === 'folder') {
      await files.makeDirectory(path)
      return
    }
    const content = contentOf(spool, CID.decode(cid), failed)
    const { revision } = await files.write(path, content, { size, ifAbsent: true, signal })
    note.run(revision, id)
  }
  try {
    await concurrently(entriesOf(spool), filesAtOnce, write)
  } catch (error) {
    await takeBack(spool, files, log)
    throw isTaken(error) ? conflict('Another program writes into the folder. Try again.') : error
  }
}

function* entriesOf(spool: CarSpool): Generator<PlannedEntry> {
  const page = spool.index.prepare(
    'SELECT id, path, kind, cid, size FROM entry WHERE id > ? ORDER BY id LIMIT 1',
  )
  for (let last = 0; ; ) {
    const entry = page.get(last) as unknown as PlannedEntry | undefined
    if (entry === undefined) return
    yield entry
    last = entry.id
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
async function takeBack(spool: CarSpool, files: UserFiles, log: Log): Promise<void> {
  const written = spool.index
    .prepare(
      "SELECT path, kind, revision FROM entry WHERE kind = 'folder' OR revision IS NOT NULL ORDER BY id DESC",
    )
    .all()
  for (const { path, revision } of written) {
    const options = revision === null ? { onlyIfEmpty: true } : { ifRevision: String(revision) }
    await files.remove(String(path), options).catch((error) => {
      if (!(isNodekeepError(error) && error.code === 'NOT_FOUND'))
        log.warn({ err: error, path }, 'A file or folder of a failed import stays.')
    })
  }
}
