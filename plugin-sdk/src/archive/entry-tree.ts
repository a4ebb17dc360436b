import { ArchiveError } from './archive-failure.ts'

const maxPathBytes = 8192
const maxNameBytes = 255

interface Node {
  /** `null` for a file. */
  readonly children: Map<string, Node> | null
  /** Whether the archive has an entry for it, and not only for what is in it. */
  listed: boolean
}

/** The names of an archive. Folders that no entry tells of count as entries, so the tree stays small. */
export class EntryTree {
  readonly #root: Node = { children: new Map(), listed: true }
  readonly #maxEntries: number
  #entries = 0

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  /** @throws ArchiveError when the path could be outside of the folder, is odd, or is there already */
  add(path: string, type: 'file' | 'directory'): void {
    const names = namesOf(path)
    let folder = this.#root
    for (const name of names.slice(0, -1)) {
      const inner = folder.children?.get(name) ?? this.#addTo(folder, name, 'directory', false)
      if (inner.children === null)
        throw new ArchiveError(`has a file and a folder with one name: ${quoted(path)}`)
      folder = inner
    }
    const name = names.at(-1) ?? ''
    const known = folder.children?.get(name)
    if (known === undefined) this.#addTo(folder, name, type, true)
    else if (known.listed || known.children === null || type === 'file') {
      throw new ArchiveError(`has an entry twice: ${quoted(path)}`)
    } else known.listed = true
  }

  #addTo(folder: Node, name: string, type: 'file' | 'directory', listed: boolean): Node {
    this.#entries += 1
    if (this.#entries > this.#maxEntries) {
      throw new ArchiveError(
        `has more than the ${this.#maxEntries} files and folders that are allowed`,
        'PAYLOAD_TOO_LARGE',
      )
    }
    const added: Node = { children: type === 'file' ? null : new Map(), listed }
    folder.children?.set(name, added)
    return added
  }
}

function namesOf(path: string): string[] {
  const names = path.split('/')
  const refuse = (what: string) => new ArchiveError(`has an entry ${what}: ${quoted(path)}`)
  if (path.startsWith('/') || names.includes('..')) throw refuse('that leads out of the folder')
  if (path.includes('\0')) throw refuse('with a NUL in its name')
  if (Buffer.byteLength(path) > maxPathBytes) throw refuse('with a path that is too long')
  for (const name of names) {
    if (name === '' || name === '.') throw refuse('with an empty name or "."')
    if (Buffer.byteLength(name) > maxNameBytes) throw refuse('with a name that is too long')
    // On Windows, these are paths, streams of other files, devices, or other names.
    if (
      process.platform === 'win32' &&
      /[\\:*?"<>|]|[. ]$|^(con|prn|aux|nul|(com|lpt)\d)(\.|$)/i.test(name)
    ) {
      throw refuse('with a name that Windows does not have')
    }
  }
  return names
}

/** Quotes a name of an archive for a message. */
export function quoted(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
}
