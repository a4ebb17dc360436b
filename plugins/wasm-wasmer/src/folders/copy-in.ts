import { type FileEntry, NodekeepError, type UserFiles, type WasmPreopen } from '@nodekeep/plugin-sdk'
import type { Folder, FolderEntry, SandboxLimits } from '../protocol/messages.ts'

/** The revisions of files, by their paths relative to the folder. */
export type Revisions = ReadonlyMap<string, string>

/** Folders as they were when a program began. */
export interface Copies {
  readonly folders: Folder[]
  /** The files' contents, of one folder after the other. */
  readonly contents: Buffer[]
  /** For each folder. */
  readonly revisions: Revisions[]
}

/**
 * Reads the folders that a program is to see.
 *
 * @throws NodekeepError UNPROCESSABLE when there is more in them than the limits allow
 */
export async function copyIn(
  preopens: readonly WasmPreopen[],
  limits: SandboxLimits,
  signal: AbortSignal,
): Promise<Copies> {
  const folders: Folder[] = []
  const contents: Buffer[] = []
  const revisions: Revisions[] = []
  const room = new Room(limits)
  for (const { guestPath, writable, files, path } of preopens) {
    const entries: FolderEntry[] = []
    const known = new Map<string, string>()
    for await (const [name, entry] of walk(files, path)) {
      signal.throwIfAborted()
      room.takeEntry()
      if (entry.type === 'directory') {
        entries.push({ path: name, size: null })
        continue
      }
      room.check(entry.size)
      const [content, revision] = await read(files, entry.path, room)
      contents.push(content)
      entries.push({ path: name, size: content.length })
      known.set(name, revision)
    }
    folders.push({ guestPath, writable, entries })
    revisions.push(known)
  }
  return { folders, contents, revisions }
}

async function* walk(
  files: UserFiles,
  folder: string,
  prefix = '',
): AsyncGenerator<[path: string, entry: FileEntry]> {
  for await (const entry of files.list(folder)) {
    const path = prefix + entry.name
    yield [path, entry]
    if (entry.type === 'directory') yield* walk(files, entry.path, `${path}/`)
  }
}

async function read(
  files: UserFiles,
  path: string,
  room: Room,
): Promise<[content: Buffer, revision: string]> {
  const { entry, content } = await files.read(path)
  const chunks: Uint8Array[] = []
  for await (const chunk of content) {
    room.takeBytes(chunk.length)
    chunks.push(chunk)
  }
  return [Buffer.concat(chunks), entry.revision]
}

/** What is left of the limits. */
class Room {
  readonly #limits: SandboxLimits
  #bytes: number
  #entries: number

  constructor(limits: SandboxLimits) {
    this.#limits = limits
    this.#bytes = limits.folderBytes
    this.#entries = limits.folderEntries
  }

  takeEntry(): void {
    this.#entries -= 1
    if (this.#entries < 0) throw tooMuch(`${this.#limits.folderEntries} files and folders`)
  }

  /** Spares reading what has no room anyway. */
  check(bytes: number): void {
    if (bytes > this.#bytes) throw tooMuch(`${Math.floor(this.#limits.folderBytes / 2 ** 20)} MiB`)
  }

  takeBytes(count: number): void {
    this.check(count)
    this.#bytes -= count
  }
}

function tooMuch(limit: string): NodekeepError {
  return new NodekeepError(
    'UNPROCESSABLE',
    `There is more in the folders than the limit of ${limit} allows. Open smaller folders for the program.`,
  )
}
