import { hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { ArchiveError, type HashedEntry } from '@nodekeep/plugin-sdk/archive'

/** A line of `manifest.json`. */
export interface ManifestEntry {
  readonly path: string
  readonly type: 'file' | 'directory'
  /** Bytes; 0 for a folder. */
  readonly size: number
  /** ISO 8601 in UTC with milliseconds, as `created`. */
  readonly modified: string
  /** Missing where it is unknown or equals `modified`. */
  readonly created?: string
  /** Hexadecimal digits. Missing for a folder, and in the manifest of a view, which is made without reading the files. */
  readonly sha256?: string
  /** The source changed while it was read, so the content may be of no single moment. */
  readonly changed?: true
}

/** The facts of an entry that its line repeats. */
type ListedEntry = Pick<ManifestEntry, 'path' | 'type' | 'size'> & {
  readonly modified: Date
  readonly created?: Date | undefined
}

/** Returns the line for an entry. `sha256` counts for files only. */
export function manifestEntry(
  { path, type, size, modified, created }: ListedEntry,
  { sha256, changed = false }: { readonly sha256?: string; readonly changed?: boolean },
): ManifestEntry {
  return {
    path,
    type,
    size,
    modified: modified.toISOString(),
    ...(created && created.getTime() !== modified.getTime() && { created: created.toISOString() }),
    ...(type === 'file' && sha256 !== undefined && { sha256 }),
    ...(changed && { changed }),
  }
}

const opening = '{"format":1,"entries":[\n'
const closing = ']}\n'

/** The longest line that is read: a path of 8,192 bytes with each byte escaped, and the rest. */
const maxLineBytes = 64 * 1024

/** Collects the entries of an archive, in their order, for its `manifest.json` and its `SHA256SUMS`. */
export class ManifestWriter {
  readonly #pages: Buffer[] = []
  #page: string[] = []
  #sumsBytes = 0

  add(entry: ManifestEntry): void {
    this.#page.push(jsonLine(entry))
    this.#sumsBytes += Buffer.byteLength(sumLine(entry))
    if (this.#page.length === 256) this.#turn()
  }

  /** The manifest: JSON with one entry on each line. */
  *manifest(): Generator<Buffer, void, undefined> {
    this.#turn()
    yield Buffer.from(opening)
    for (const [index, page] of this.#pages.entries()) {
      if (index > 0) yield Buffer.from(',\n')
      yield page
    }
    yield Buffer.from(`\n${closing}`)
  }

  get manifestBytes(): number {
    return this.manifest().reduce((sum, { length }) => sum + length, 0)
  }

  /** The files in the form of GNU `sha256sum`. */
  *sums(): Generator<Buffer, void, undefined> {
    this.#turn()
    for (const page of this.#pages) {
      const entries: ManifestEntry[] = JSON.parse(`[${page}]`)
      yield Buffer.from(entries.map(sumLine).join(''))
    }
  }

  get sumsBytes(): number {
    return this.#sumsBytes
  }

  /** Keeps the lines as bytes, outside of the heap. */
  #turn(): void {
    if (this.#page.length > 0) this.#pages.push(Buffer.from(this.#page.join(',\n')))
    this.#page = []
  }
}

/** One line of JSON. Names may have characters at which many readers of lines, such as Node's, begin a new one. */
export function jsonLine(value: object): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value).replace(/[\u0085\u2028\u2029]/g, escaped)
}

/** A backslash before the sum says that the name has escapes. */
function sumLine({ path, sha256 }: ManifestEntry): string {
  if (sha256 === undefined) return ''
  const name = path.replace(/[\\\n\r]/g, (char) => ({ '\\': '\\\\', '\n': '\\n' })[char] ?? '\\r')
  return `${name === path ? '' : '\\'}${sha256}  ${name}\n`
}

/** Compares the lines of a manifest, as they come, with the entries that were read before it. */
export class ManifestCheck {
  readonly #hasSums: boolean
  readonly #read: string[] = []
  #rest: Buffer = Buffer.alloc(0)
  #lines = 0
  /** Whether an entry must follow. */
  #goesOn = true
  #isClosed = false

  /** @param hasSums false for the manifest of a view, which has no checksums */
  constructor(hasSums: boolean) {
    this.#hasSums = hasSums
  }

  /** Adds an entry that was read. */
  expect({ path, type, size, modified, sha256 }: HashedEntry): void {
    this.#read.push(fingerprint(path, type, size, modified.getTime(), this.#hasSums ? sha256 : null))
  }

  /** @throws ArchiveError when the archive has not exactly what the manifest says */
  read(chunk: Uint8Array): void {
    let bytes = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk])
    for (let end = bytes.indexOf('\n'); end >= 0; end = bytes.indexOf('\n')) {
      this.#readLine(bytes.toString('utf8', 0, end + 1))
      bytes = bytes.subarray(end + 1)
    }
    if (bytes.length > maxLineBytes) throw mismatch()
    this.#rest = bytes
  }

  /**
   * Call it when the manifest has ended.
   *
   * @throws ArchiveError
   */
  end(): void {
    if (!this.#isClosed || this.#rest.length > 0) throw mismatch()
  }

  #readLine(line: string): void {
    this.#lines += 1
    if (this.#lines === 1) {
      if (line !== opening) throw mismatch()
    } else if (this.#goesOn) this.#compare(line)
    else if (line === closing && this.#lines === this.#read.length + 2) this.#isClosed = true
    else throw mismatch()
  }

  #compare(line: string): void {
    const entry = entryOf(line.replace(/,?\n$/, ''))
    if (entry === null) throw mismatch()
    const { path, type, size, modified, sha256 = null } = entry
    if (fingerprint(path, type, size, Date.parse(modified), sha256) !== this.#read[this.#lines - 2]) {
      throw mismatch(path)
    }
    this.#goesOn = line.endsWith(',\n')
  }
}

/** Yields the entries of an unpacked manifest that was checked. */
export async function* manifestEntries(file: string): AsyncGenerator<ManifestEntry, void, undefined> {
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const entry = entryOf(line.replace(/,$/, ''))
    if (entry !== null) yield entry
  }
}

/** @param path of the first entry that differs, if the manifest can be read so far */
function mismatch(path?: string): ArchiveError {
  const first = path === undefined ? '' : `: the first difference is ${JSON.stringify(path.slice(0, 200))}`
  return new ArchiveError(`differs from its manifest${first}`)
}

function entryOf(line: string): ManifestEntry | null {
  try {
    const entry: ManifestEntry | null = JSON.parse(line)
    return typeof entry?.path === 'string' && entry.sha256 !== null ? entry : null
  } catch {
    return null
  }
}

/** Shorter than the fields, so that a million entries fit in memory. */
function fingerprint(...fields: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(fields), 'base64')
}
