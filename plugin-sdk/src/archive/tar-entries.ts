import { Header } from 'tar/header'
import type { ArchiveEntry } from './archive-entry.ts'
import { ArchiveError } from './archive-failure.ts'
import type { ByteReader } from './byte-reader.ts'
import { quoted } from './entry-tree.ts'

/** An entry with its content. What is not read of it is skipped. */
interface TarEntry extends ArchiveEntry {
  readonly content: AsyncIterable<Buffer>
}

const blockBytes = 512
/** The most bytes of the records or the long name before an entry. */
const maxExtensionBytes = 1024 * 1024

/** The records before an entry that say more than its header can. */
interface Extensions {
  path?: string
  size?: number
  modified?: Date
}

/**
 * Reads a tar archive (POSIX.1-2024, pax: ustar headers and extended headers; and the long names of GNU tar).
 *
 * The blocks of headers are read by the package `tar`. Its own reader takes an archive without an end for a whole one,
 * ignores what follows the end and entries that it does not know, and loses names with line breaks, so this one decides
 * what follows what. It refuses everything that is not needed for files and folders.
 *
 * @throws ArchiveError
 */
export async function* readTar(bytes: ByteReader): AsyncGenerator<TarEntry, void, undefined> {
  let extensions: Extensions | undefined
  for (;;) {
    const block = await bytes.exactly(blockBytes)
    const header = headerOf(block)
    if (header.nullBlock) {
      if (extensions !== undefined) throw new ArchiveError('is damaged: an entry is missing')
      return await readEnd(bytes)
    }
    if (!header.cksumValid) throw new ArchiveError('is damaged: a header has a wrong checksum')
    const size = validSize(header.size)
    switch (header.type) {
      case 'ExtendedHeader':
        extensions = merged(extensions, paxExtensions(await readExtension(bytes, size)))
        break
      case 'NextFileHasLongPath':
        extensions = merged(extensions, { path: longPath(await readExtension(bytes, size)) })
        break
      case 'File':
      case 'OldFile':
      case 'Directory':
        yield* readEntry(bytes, header, { size, ...extensions })
        extensions = undefined
        break
      default:
        throw new ArchiveError(
          `has an entry that is neither a file nor a folder: ${quoted(header.path ?? '')} (${header.type})`,
        )
    }
  }
}

function headerOf(block: Buffer): Header {
  try {
    return new Header(block)
  } catch {
    // A number in base 256 is wrong, or too large for JavaScript.
    throw new ArchiveError('is damaged: a header cannot be read')
  }
}

async function* readEntry(
  bytes: ByteReader,
  header: Header,
  { path, size, modified }: Extensions & { size: number },
): AsyncGenerator<TarEntry, void, undefined> {
  const isDirectory = header.type === 'Directory'
  const name = path ?? shortPath(header)
  if (header.linkpath) throw new ArchiveError(`has a link: ${quoted(name)}`)
  if (isDirectory && size > 0) throw new ArchiveError(`has a folder with content: ${quoted(name)}`)
  let missing = size
  async function* rest() {
    while (missing > 0) {
      const chunk = await bytes.some(missing)
      if (chunk === null) throw new ArchiveError('is cut short')
      missing -= chunk.length
      yield chunk
    }
  }
  yield {
    path: isDirectory ? name.replace(/\/$/, '') : name,
    type: isDirectory ? 'directory' : 'file',
    size,
    modified: modified ?? header.mtime ?? new Date(0),
    executable: ((header.mode ?? 0) & 0o100) !== 0,
    content: rest(),
  }
  for await (const _skipped of rest());
  await bytes.exactly(padding(size))
}

/** After the two empty blocks of the end, only zeros may follow: tar fills up its last record. */
async function readEnd(bytes: ByteReader): Promise<void> {
  for (
    let block: Buffer | null = await bytes.exactly(blockBytes);
    block !== null;
    block = await bytes.some(65_536)
  ) {
    if (block.some((byte) => byte !== 0)) throw new ArchiveError('has something behind its end')
  }
}

async function readExtension(bytes: ByteReader, size: number): Promise<Buffer> {
  if (size === 0 || size > maxExtensionBytes) throw new ArchiveError('has an extended header of a wrong size')
  const body = await bytes.exactly(size)
  await bytes.exactly(padding(size))
  return body
}

function merged(former: Extensions | undefined, next: Extensions): Extensions {
  for (const key of Object.keys(next)) {
    if (former !== undefined && Object.hasOwn(former, key)) {
      throw new ArchiveError('has two extended headers for one entry')
    }
  }
  return { ...former, ...next }
}

/** Reads records of the form `<length> <key>=<value>\n`; the length counts the bytes of the whole record. */
function paxExtensions(body: Buffer): Extensions {
  const found: Extensions = {}
  const keys = new Set<string>()
  for (let rest = body; rest.length > 0; ) {
    const digits = /^([1-9]\d{0,6}) /.exec(rest.toString('latin1', 0, 8))?.[1]
    const length = Number(digits)
    const record = rest.subarray(0, length)
    const equals = record.indexOf('=')
    if (digits === undefined || record.length < length || record.at(-1) !== 0x0a || equals < 0) {
      throw new ArchiveError('is damaged: an extended header cannot be read')
    }
    const key = text(record.subarray(digits.length + 1, equals))
    if (keys.has(key)) throw new ArchiveError('has a key twice in an extended header')
    keys.add(key)
    addRecord(found, key, record.subarray(equals + 1, -1))
    rest = rest.subarray(length)
  }
  return found
}

/** Owners, other times and attributes are not needed. */
function addRecord(found: Extensions, key: string, value: Buffer): void {
  if (key === 'path') found.path = text(value)
  else if (key === 'size') found.size = validSize(/^\d+$/.test(text(value)) ? Number(text(value)) : undefined)
  else if (key === 'mtime') found.modified = timeOf(text(value))
  else if (key === 'linkpath') throw new ArchiveError('has a link')
  else if (key.startsWith('GNU.sparse')) throw new ArchiveError('has a sparse file')
}

/** Reads decimal seconds since 1970. Fractions of a second are inexact numbers, so the product is rounded before it is cut. */
function timeOf(seconds: string): Date {
  const time = new Date(Math.floor(Number((Number(seconds) * 1000).toFixed(3))))
  if (!/^-?\d+(\.\d+)?$/.test(seconds) || Number.isNaN(time.getTime())) {
    throw new ArchiveError('is damaged: the time of an entry cannot be read')
  }
  return time
}

function longPath(body: Buffer): string {
  const end = body.indexOf(0)
  return text(end < 0 ? body : body.subarray(0, end))
}

function shortPath({ path = '' }: Header): string {
  // The header was decoded without a check, so bytes that are not UTF-8 are replacement characters now.
  if (path.includes('\uFFFD')) throw new ArchiveError(`has a name that is not UTF-8: ${quoted(path)}`)
  return path
}

function validSize(size: number | undefined): number {
  if (size !== undefined && Number.isSafeInteger(size) && size >= 0) return size
  throw new ArchiveError('is damaged: the size of an entry cannot be read')
}

/** How many bytes fill up the last block of a content. */
function padding(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function text(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new ArchiveError('has a name that is not UTF-8')
  }
}
