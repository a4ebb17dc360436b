import { setImmediate } from 'node:timers/promises'
import { invalid, NodekeepError } from '@nodekeep/plugin-sdk'
import type { CID } from 'multiformats/cid'
import { fileBlocks, type GetBlock, mostLevels } from '../unixfs/file-blocks.ts'
import { folderBlocks } from '../unixfs/folder-blocks.ts'
import { unixFsNode } from '../unixfs/unixfs-node.ts'
import type { CarSpool } from './car-spool.ts'

/** Files and folders of an import. */
const mostEntries = 100_000

/** Links to blocks that the import has followed before: a few blocks that link to each other can be a tree of any size. */
const mostRepeats = 100_000

/** Blocks that are read before others get their turn. */
const readsInARow = 128

/** Bytes of UTF-8 in a name, and in a path. */
const longestName = 255
const longestPath = 4096

interface ImportLimits {
  /** Of all files together, and of the CAR. */
  readonly maxBytes: number
  readonly maxFileSize: number
}

/** A file or a folder that is to be made. */
export interface PlannedEntry {
  readonly id: number
  readonly path: string
  readonly kind: 'file' | 'folder'
  readonly cid: Uint8Array
  readonly size: number
}

/** Counts of a plan. */
export interface ImportCounts {
  readonly files: number
  readonly bytes: number
  /** Symbolic links, which are left out. */
  readonly symlinks: number
}

/**
 * Looks at everything below the root of a CAR, also at each block of the files, before any file is written. The plan is the table `entry`
 * of the index of the spool.
 *
 * @param top the path of the file or folder that the root becomes
 * @throws NodekeepError VALIDATION_ERROR, PAYLOAD_TOO_LARGE; NotUnixFs
 */
export async function planImport(
  spool: CarSpool,
  top: string,
  limits: ImportLimits,
  signal: AbortSignal,
): Promise<ImportCounts> {
  spool.index.exec(`CREATE TABLE entry (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, cid BLOB NOT NULL, size INTEGER NOT NULL, revision TEXT
  ) STRICT; BEGIN`)
  const plan = new ImportPlan(spool, limits, signal)
  const counts = await plan.run(top)
  spool.index.exec('COMMIT')
  return counts
}

class ImportPlan {
  readonly #spool: CarSpool
  readonly #get: GetBlock
  readonly #limits: ImportLimits
  readonly #add
  #reads = 0
  #entries = 0
  #files = 0
  #bytes = 0
  #symlinks = 0

  constructor(spool: CarSpool, limits: ImportLimits, signal: AbortSignal) {
    this.#spool = spool
    this.#limits = limits
    this.#add = spool.index.prepare('INSERT OR IGNORE INTO entry (path, kind, cid, size) VALUES (?, ?, ?, ?)')
    this.#get = async (cid) => {
      signal.throwIfAborted()
      this.#reads += 1
      if (this.#reads > spool.blocks + mostRepeats)
        throw tooLarge(`The CAR repeats more than the ${mostRepeats} links to blocks that are allowed.`)
      // Blocks that are in memory come without any wait in between.
      if (this.#reads % readsInARow === 0) await setImmediate()
      return spool.get(cid)
    }
  }

  async run(top: string): Promise<ImportCounts> {
    const waiting = [{ cid: this.#spool.root, path: top, level: 1 }]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { cid, path, level } = next
      if (level > mostLevels)
        throw invalid(`The CAR has more than the ${mostLevels} levels of folders that are allowed.`)
      const node = unixFsNode(cid, await this.#spool.get(cid))
      if (node.kind === 'symlink') {
        if (path === top) throw invalid('The root of the CAR is a symbolic link.')
        this.#symlinks += 1
      } else if (node.kind === 'file') {
        await this.#addFile(cid, path, node.size)
      } else {
        this.#note(cid, path, 'folder', 0)
        for await (const { entries } of folderBlocks(this.#get, cid))
          for (const entry of entries)
            waiting.push({ cid: entry.cid, path: childPath(path, entry.name), level: level + 1 })
        if (waiting.length + this.#entries > mostEntries) throw tooManyEntries()
      }
    }
    return { files: this.#files, bytes: this.#bytes, symlinks: this.#symlinks }
  }

  async #addFile(cid: CID, path: string, size: number): Promise<void> {
    this.#files += 1
    this.#bytes += size
    const { maxBytes, maxFileSize } = this.#limits
    if (size > maxFileSize)
      throw tooLarge(`The file "${path}" has more than the ${maxFileSize} bytes of a file.`)
    // A block can be in many places, so that a small CAR has large files.
    if (this.#bytes > maxBytes) throw tooLarge(`The files of the CAR have more than ${maxBytes} bytes.`)
    this.#note(cid, path, 'file', size)
    for await (const _block of fileBlocks(this.#get, cid));
  }

  #note(cid: CID, path: string, kind: PlannedEntry['kind'], size: number): void {
    this.#entries += 1
    if (this.#entries > mostEntries) throw tooManyEntries()
    const { changes } = this.#add.run(path, kind, cid.bytes, size)
    if (changes === 0) throw invalid(`The CAR has two entries with the path ${JSON.stringify(path)}.`)
  }
}

/**
 * Returns the path of an entry as the files have it: names that are equal in NFC are one name.
 *
 * @throws NodekeepError VALIDATION_ERROR if no file can have the name, such as because it leads out of the folder
 */
export function childPath(folder: string, name: string): string {
  const isGood =
    name !== '' &&
    name !== '.' &&
    name !== '..' &&
    // A backslash separates folders on some systems.
    !/[/\\\0]/.test(name) &&
    name.isWellFormed() &&
    Buffer.byteLength(name) <= longestName
  const path = `${folder === '/' ? '' : folder}/${isGood ? name.normalize('NFC') : ''}`
  if (!isGood || Buffer.byteLength(path) > longestPath)
    throw invalid(`In "${folder}", no file or folder can have the name ${quoted(name)}.`)
  return path
}

function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)
}

function tooLarge(message: string): NodekeepError {
  return new NodekeepError('PAYLOAD_TOO_LARGE', message)
}

function tooManyEntries(): NodekeepError {
  return tooLarge(`The CAR has more than the ${mostEntries} files and folders that are allowed.`)
}
