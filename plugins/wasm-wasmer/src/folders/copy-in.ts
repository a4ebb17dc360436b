import { NodekeepError, type UserFiles, type WasmPreopen } from '@nodekeep/plugin-sdk'
import type { Folder, FolderEntry, SandboxLimits } from '../protocol/messages.ts'
import { Turn } from './turn.ts'

/** Folders that Wasmer itself has in a program's file system. */
const wasmersFolders = ['/', '/bin', '/dev', '/usr', '/etc', '/.app', '/.private']

/** The revisions of files, by their paths relative to the folder. */
export type Revisions = ReadonlyMap<string, string>

/** A copy of a folder from the moment when a program began, without the contents of its files. */
interface FolderCopy {
  readonly preopen: WasmPreopen
  readonly folder: Folder
  /** The paths of the folder's entries relative to it, in the order of the entries. */
  readonly paths: readonly string[]
  readonly revisions: Revisions
}

/** The copies of all folders of a program. */
interface Copies {
  readonly copies: readonly FolderCopy[]
  /** The files' contents, of one folder after the other. */
  readonly contents: readonly Buffer[]
}

/**
 * Copies the folders that a program is to see. The work grows with the number of entries, however deep they are.
 *
 * @throws NodekeepError UNPROCESSABLE when they hold more than the limits allow, and the signal's reason
 */
export async function copyIn(
  preopens: readonly WasmPreopen[],
  limits: SandboxLimits,
  signal: AbortSignal,
): Promise<Copies> {
  const copies: FolderCopy[] = []
  const contents: Buffer[] = []
  const remaining = new Remaining(limits)
  const turn = new Turn()
  for (const preopen of preopens) {
    const { guestPath, writable, files, path } = preopen
    const entries: FolderEntry[] = []
    const paths: string[] = []
    const revisions = new Map<string, string>()
    const waiting: { readonly parent: number | null; readonly path: string }[] = [{ parent: null, path }]
    // Without recursion: with it, every level would pass on all entries of the levels below.
    for (const { parent, path: folder } of waiting) {
      for await (const { name, path: whole, type, size, modified: time } of files.list(folder)) {
        await turn.mayEnd(signal)
        remaining.takeEntry()
        const below = whole.slice(path === '/' ? 1 : path.length + 1)
        const place = paths.push(below) - 1
        const modified = time.getTime()
        if (type === 'directory') {
          entries.push({ parent, name, size: null, modified })
          waiting.push({ parent: place, path: whole })
          continue
        }
        remaining.check(size)
        const [content, revision] = await read(files, whole, remaining, signal)
        contents.push(content)
        entries.push({ parent, name, size: content.length, modified })
        revisions.set(below, revision)
      }
    }
    copies.push({ preopen, folder: { guestPath, writable, entries }, paths, revisions })
  }
  return { copies, contents }
}

async function read(
  files: UserFiles,
  path: string,
  remaining: Remaining,
  signal: AbortSignal,
): Promise<[content: Buffer, revision: string]> {
  const { entry, content } = await files.read(path, { signal })
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
