import { type FileEntry, NodekeepError, type UserFiles, type WasmPreopen } from '@nodekeep/plugin-sdk'
import type { Folder, FolderEntry, SandboxLimits } from '../protocol/messages.ts'

/** Folders that Wasmer itself has in a program's file system. */
const wasmersFolders = ['/', '/bin', '/dev', '/usr', '/etc', '/.app', '/.private']

/** The revisions of files, by their paths relative to the folder. */
export type Revisions = ReadonlyMap<string, string>

/** Copies of folders from the moment when a program began. */
export interface Copies {
  readonly folders: Folder[]
  /** The files' contents, of one folder after the other. */
  readonly contents: Buffer[]
  /** One for each folder. */
  readonly revisions: Revisions[]
}

/**
 * Copies the folders that a program is to see.
 *
 * @throws NodekeepError UNPROCESSABLE when they hold more than the limits allow
 */
export async function copyIn(
  preopens: readonly WasmPreopen[],
  limits: SandboxLimits,
  signal: AbortSignal,
): Promise<Copies> {
  const folders: Folder[] = []
  const contents: Buffer[] = []
  const revisions: Revisions[] = []
  const remaining = new Remaining(limits)
  for (const { guestPath, writable, files, path } of preopens) {
    const entries: FolderEntry[] = []
    const known = new Map<string, string>()
    for await (const [name, entry] of walk(files, path)) {
      signal.throwIfAborted()
      remaining.takeEntry()
      if (entry.type === 'directory') {
        entries.push({ path: name, size: null })
        continue
      }
      remaining.check(entry.size)
      const [content, revision] = await read(files, entry.path, remaining)
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
  remaining: Remaining,
): Promise<[content: Buffer, revision: string]> {
  const { entry, content } = await files.read(path)
  const chunks: Uint8Array[] = []
  for await (const chunk of content) {
    remaining.takeBytes(chunk.length)
    chunks.push(chunk)
  }
  return [Buffer.concat(chunks), entry.revision]
}

/** The bytes and entries that the limits still allow. */
class Remaining {
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

  /** Avoids reading a file that is too large. */
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
    `The folders hold more than the limit of ${limit} allows. Open smaller folders for the program.`,
  )
}

/**
 * Checks that a program can have a folder at its path.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function checkMountable({ guestPath }: WasmPreopen): void {
  if (!wasmersFolders.includes(guestPath)) return
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `A program cannot have a folder of yours at "${guestPath}". Give it another path with "as", such as "/data".`,
  )
}
