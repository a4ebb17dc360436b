import { setImmediate } from 'node:timers/promises'
import { invalid, NodekeepError } from '@nodekeep/plugin-sdk'
import type { CID } from 'multiformats/cid'
import { fileBlocks, mostLevels } from '../unixfs/file-blocks.ts'
import { folderBlocks } from '../unixfs/folder-blocks.ts'
import { unixFsNode } from '../unixfs/unixfs-node.ts'
import type { CarSpool } from './car-spool.ts'
import { PlannedEntries, type PlannedEntry } from './planned-entries.ts'

/** Files, folders and symbolic links of an import. */
const mostEntries = 100_000

/** Links to blocks that the import has followed before: a few blocks that link to each other can be a tree of any size. */
const mostRepeats = 100_000

/** Bytes of these blocks, beside the content of files. */
const mostRepeatedBytes = 64 * 1024 * 1024

/** Milliseconds after which others get their turn: blocks that are in memory come without any wait in between. */
const turnMs = 10

interface ImportLimits {
  /** Of all files together, and of the CAR. */
  readonly maxBytes: number
  readonly maxFileSize: number
}

/** Counts of a plan. */
export interface ImportCounts {
  readonly files: number
  readonly bytes: number
  /** Symbolic links, which are left out. */
  readonly symlinks: number
}

/**
 * Looks at everything below the root of a CAR, also at each block of the files, before any file is written. The plan is in the index of
 * the spool.
 *
 * @param top the path of the file or folder that the root becomes
 * @throws NodekeepError VALIDATION_ERROR, PAYLOAD_TOO_LARGE; NotUnixFs
 */
export async function planImport(
  spool: CarSpool,
  top: string,
  limits: ImportLimits,
  signal: AbortSignal,
): Promise<ImportCounts & { readonly entries: PlannedEntries }> {
  const entries = new PlannedEntries(spool.index)
  spool.index.exec('BEGIN')
  const counts = await new ImportPlan(spool, entries, limits, signal).run(top)
  spool.index.exec('COMMIT')
  return { entries, ...counts }
}

class ImportPlan {
  readonly #spool: CarSpool
  readonly #planned: PlannedEntries
  readonly #limits: ImportLimits
  readonly #signal: AbortSignal
  #turnEndsAt = 0
  #reads = 0
  #bytesRead = 0
  #entries = 0
  #files = 0
  #bytes = 0
  #symlinks = 0

  constructor(spool: CarSpool, planned: PlannedEntries, limits: ImportLimits, signal: AbortSignal) {
    this.#spool = spool
    this.#planned = planned
    this.#limits = limits
    this.#signal = signal
  }

  async run(top: string): Promise<ImportCounts> {
    this.#planned.addTop(top, this.#spool.root)
    for (const entry of this.#planned.all()) {
      if (entry.level > mostLevels)
        throw invalid(`The CAR has more than the ${mostLevels} levels of folders that are allowed.`)
      const node = unixFsNode(entry.cid, await this.#read(entry.cid))
      if (node.kind === 'symlink') {
        if (entry.level === 1) throw invalid('The root of the CAR is a symbolic link.')
        this.#symlinks += 1
      } else if (node.kind === 'file') {
        await this.#planFile(entry, node.size)
      } else {
        await this.#planFolder(entry)
      }
    }
    return { files: this.#files, bytes: this.#bytes, symlinks: this.#symlinks }
  }

  async #planFile(entry: PlannedEntry, size: number): Promise<void> {
    this.#files += 1
    this.#bytes += size
    const { maxBytes, maxFileSize } = this.#limits
    if (size > maxFileSize)
      throw tooLarge(`The file "${entry.path}" has more than the ${maxFileSize} bytes of a file.`)
    // A block can be in many places, so that a small CAR has large files.
    if (this.#bytes > maxBytes) throw tooLarge(`The files of the CAR have more than ${maxBytes} bytes.`)
    this.#planned.note(entry, 'file', size)
    for await (const _block of fileBlocks((cid) => this.#follow(cid), entry.cid));
  }

  async #planFolder(folder: PlannedEntry): Promise<void> {
    this.#planned.note(folder, 'folder', 0)
    for await (const { entries } of folderBlocks((cid) => this.#follow(cid), folder.cid))
      for (const { name, cid } of entries) {
        this.#entries += 1
        if (this.#entries > mostEntries)
          throw tooLarge(`The CAR has more than the ${mostEntries} files and folders that are allowed.`)
        this.#planned.add(folder, name, cid)
        await this.#giveTurn()
      }
  }

  async #follow(cid: CID): Promise<Uint8Array> {
    this.#reads += 1
    if (this.#reads > this.#spool.blocks + mostRepeats)
      throw tooLarge(`The CAR repeats more than the ${mostRepeats} links to blocks that are allowed.`)
    return this.#read(cid)
  }

  async #read(cid: CID): Promise<Uint8Array> {
    this.#signal.throwIfAborted()
    await this.#giveTurn()
    const bytes = await this.#spool.get(cid)
    this.#bytesRead += bytes.length
    // The first block of each entry is read twice.
    if (this.#bytesRead > 2 * (this.#spool.bytes + this.#bytes) + mostRepeatedBytes)
      throw tooLarge(`The CAR repeats blocks of more than ${mostRepeatedBytes} bytes.`)
    return bytes
  }

  async #giveTurn(): Promise<void> {
    if (performance.now() < this.#turnEndsAt) return
    await setImmediate()
    this.#turnEndsAt = performance.now() + turnMs
  }
}

function tooLarge(message: string): NodekeepError {
  return new NodekeepError('PAYLOAD_TOO_LARGE', message)
}
