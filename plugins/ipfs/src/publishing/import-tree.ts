import {
  concurrently,
  type FileListEntry,
  invalid,
  isNodekeepError,
  NodekeepError,
  nameOf,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import { importer } from 'ipfs-unixfs-importer'
import type { CID } from 'multiformats/cid'
import type { StoreSession } from '../store/store.ts'
import { Turns } from '../turns.ts'
import { addFile } from '../unixfs/add-file.ts'
import type { PublishedBlock } from './publications.ts'

/** Files of a folder that are read at a time. */
const filesAtOnce = 4

/** Bounds of what is published at once. */
export interface TreeLimits {
  /** Files and folders. */
  readonly maxEntries: number
  /** Folders within each other. */
  readonly maxDepth: number
  /** Bytes of content. */
  readonly maxBytes: number
}

interface ImportTreeOptions extends TreeLimits {
  readonly files: UserFiles
  readonly session: StoreSession
  readonly signal: AbortSignal
  /** Called with each block that is stored, also with one that was there before. */
  readonly onBlock: (block: PublishedBlock) => void
  /** Called with the number of bytes that were read. */
  readonly onBytes: (bytes: number) => void
}

/** A file or folder as blocks. */
export interface ImportedTree {
  readonly cid: CID
  /** The revision of a file; `null` for a folder. */
  readonly revision: string | null
  /** Bytes of content. */
  readonly size: number
  readonly files: number
}

interface ImportedEntry {
  readonly name: string
  readonly cid: CID
  /** Bytes of all blocks. */
  readonly size: bigint
}

/**
 * Stores a file or folder of a user as UnixFS. The session holds its root.
 *
 * @throws NodekeepError CONFLICT if it changes meanwhile in a way that cannot be read; VALIDATION_ERROR and PAYLOAD_TOO_LARGE for the
 *   limits; those of `UserFiles` and of the session; the reason of the signal
 */
export async function importTree(path: string, options: ImportTreeOptions): Promise<ImportedTree> {
  return new TreeImport(options).run(path)
}

class TreeImport {
  readonly #options: ImportTreeOptions
  #entries = 0
  #files = 0
  #bytes = 0

  constructor(options: ImportTreeOptions) {
    this.#options = options
  }

  async run(path: string): Promise<ImportedTree> {
    const { type } = await this.#options.files.stat(path)
    if (type === 'directory') {
      const { cid } = await this.#folder(path, 1)
      return { cid, revision: null, ...this.#counts() }
    }
    const { cid, revision } = await this.#file(path)
    return { cid, revision, ...this.#counts() }
  }

  #counts() {
    return { size: this.#bytes, files: this.#files }
  }

  async #folder(path: string, depth: number): Promise<ImportedEntry> {
    const { files, maxDepth, signal } = this.#options
    if (depth > maxDepth)
      throw invalid(`"${path}" is more than ${maxDepth} folders deep. Publish a folder that is in it.`)
    const entries: FileListEntry[] = []
    for await (const entry of files.list(path, { signal })) {
      this.#count()
      entries.push(entry)
    }
    const children: ImportedEntry[] = []
    for (const entry of entries)
      if (entry.type === 'directory') children.push(await this.#folder(entry.path, depth + 1))
    const inFolder = entries.filter(({ type }) => type === 'file')
    await concurrently(inFolder, filesAtOnce, async (entry, failed) => {
      children.push(await this.#file(entry.path, failed))
    })
    return { name: nameOf(path), ...(await this.#directory(children)) }
  }

  async #directory(children: readonly ImportedEntry[]): Promise<Pick<ImportedEntry, 'cid' | 'size'>> {
    const blocks = {
      put: async (cid: CID, bytes: Parameters<StoreSession['put']>[1]) => {
        // The importer looks at the bytes again.
        await this.#put(cid, bytes.slice())
        return cid
      },
    }
    const options = {
      profile: 'unixfs-v1-2025' as const,
      wrapWithDirectory: true,
      // The children are stored already, so the importer need not keep the tree of all folders in memory.
      async *dagBuilder() {
        const turns = new Turns()
        for (const { name, cid, size } of children) {
          await turns.give()
          yield async () => ({ path: name, cid, size })
        }
      },
    }
    let root: Pick<ImportedEntry, 'cid' | 'size'> | undefined
    // The last one is the folder.
    for await (const { cid, size } of importer([], blocks, options)) root = { cid, size }
    if (root === undefined) throw new Error('The importer made no folder.')
    return root
  }

  /** @param failed aborts when another file of the folder has failed */
  async #file(path: string, failed?: AbortSignal): Promise<ImportedEntry & { readonly revision: string }> {
    const { files, signal } = this.#options
    try {
      const { entry, content } = await files.read(path, { signal })
      const { root, blockBytes } = await addFile(this.#counted(content, failed), (cid, bytes) =>
        this.#put(cid, bytes),
      )
      this.#files += 1
      return { name: entry.name, cid: root, size: blockBytes, revision: entry.revision }
    } catch (error) {
      signal.throwIfAborted()
      if (!isNodekeepError(error) || !['NOT_FOUND', 'CONFLICT'].includes(error.code)) throw error
      throw new NodekeepError('CONFLICT', `"${path}" changed while it was published. Publish it again.`, {
        cause: error,
      })
    }
  }

  async #put(cid: CID, bytes: Uint8Array): Promise<void> {
    const { session, signal, onBlock } = this.#options
    signal.throwIfAborted()
    const { length } = bytes
    await session.put(cid, bytes)
    onBlock({ cid: cid.bytes, length })
  }

  async *#counted(content: AsyncIterable<Uint8Array>, failed?: AbortSignal): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      this.#options.signal.throwIfAborted()
      failed?.throwIfAborted()
      this.#bytes += chunk.length
      if (this.#bytes > this.#options.maxBytes)
        throw new NodekeepError(
          'PAYLOAD_TOO_LARGE',
          `More than ${this.#options.maxBytes} bytes cannot be published at once. Publish parts of it.`,
        )
      this.#options.onBytes(chunk.length)
      yield chunk
    }
  }

  #count(): void {
    this.#entries += 1
    const { maxEntries } = this.#options
    if (this.#entries > maxEntries)
      throw new NodekeepError(
        'PAYLOAD_TOO_LARGE',
        `More than ${maxEntries} files and folders cannot be published at once. Publish parts of it.`,
      )
  }
}
