import { hash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type ArchiveEntry,
  ArchiveError,
  archiveEntries,
  type ReadableEntry,
  unpackEntries,
} from '@nodekeep/plugin-sdk/archive'
import {
  archiveEntryNames,
  type BackupHeader,
  maxEntries,
  maxHeaderBytes,
  parseHeader,
} from './backup-header.ts'
import { ManifestCheck } from './manifest.ts'
import { isUnpackedBackup, unpackedEntries, unpackedExtent, unpackedHeader } from './read-unpacked-backup.ts'
import { Sample, type SampleRule } from './sample.ts'
import { UserFiles, type UserFilesOrder, type UserFilesResult, userUuidIn } from './user-files.ts'

/** An empty folder for everything below a path of the archive. The paths in it begin behind that path. */
export interface OtherPlace {
  readonly below: string
  readonly folder: string
}

/** How a backup is read. */
export interface ReadSettings {
  readonly file: string
  /** An empty folder to unpack into, or `null`. */
  readonly folder: string | null
  /** Folders on other disks. Everything below their paths goes there. */
  readonly others?: readonly OtherPlace[]
  /** Unpacks only a part. The rest is read and checked all the same. */
  readonly sample?: SampleRule
  /** Looks for files of users, and unpacks nothing else. The rest is read and checked all the same. */
  readonly userFiles?: UserFilesOrder
  /** Secret halves of recovery keys, in their usual form. */
  readonly identities: readonly string[]
  /** Bytes that the entries may have together, with their headers. */
  readonly maxBytes: number
}

/** The part of a backup that is readable without a key. */
export interface PublicHeader {
  readonly header: BackupHeader
  readonly encrypted: boolean
}

/** A backup that was read to its end and agrees with its manifest. */
export interface VerifiedBackup extends PublicHeader {
  /** Files and folders, without the manifest. */
  readonly entries: number
  /** Bytes of the contents. */
  readonly bytes: number
  /** Of an order for files of users. */
  readonly userFiles?: UserFilesResult
}

const chunkBytes = 256 * 1024

/** Reads only the beginning of a backup, in the thread that calls it. */
export async function readBeginning(file: string): Promise<PublicHeader> {
  const { header, encrypted } = await beginning(file)
  return { header, encrypted }
}

/**
 * Reads a whole backup in the thread that calls it, and checks it against its manifest. With a folder, it is unpacked meanwhile.
 * The folders are not emptied when this rejects.
 *
 * @param onChunk called with the number of bytes of the file that were read
 */
export async function readBackup(
  settings: ReadSettings,
  onChunk: (bytes: number) => void,
): Promise<VerifiedBackup> {
  const { file, identities, userFiles } = settings
  const { header, bytes, encrypted } = await beginning(file)
  if (encrypted && identities.length === 0)
    throw new ArchiveError('is encrypted. Give its recovery key: --key FILE, or "key" over HTTP')
  const open = await opener(settings, encrypted)
  const { hasSums } = open
  const order =
    userFiles?.kind === 'extract'
      ? { ...userFiles, user: await userUuidIn(open.entries(), userFiles.user) }
      : userFiles
  const task = { ...settings, ...(order && { userFiles: order }) }
  return { header, encrypted, ...(await checked(open.entries(onChunk), task, { header, bytes, hasSums })) }
}

/** Reads a backup from its beginning, as often as it is called. */
async function opener(
  { file, identities, maxBytes }: ReadSettings,
  encrypted: boolean,
): Promise<{
  readonly hasSums: boolean
  entries(onChunk?: (bytes: number) => void): AsyncIterable<ReadableEntry>
}> {
  if (await isUnpackedBackup(file)) {
    const { bytes, hasSums } = await unpackedExtent(file)
    if (bytes > maxBytes) throw new ArchiveError('has more than there is room for', 'PAYLOAD_TOO_LARGE')
    return { hasSums, entries: (onChunk = () => {}) => unpackedEntries(file, onChunk) }
  }
  const { size } = await stat(file)
  // Beside the encrypted part, which does not compress, is only the header.
  const outer = { maxBytes: size + maxHeaderBytes }
  const bounds = { maxBytes, maxEntries: maxEntries + Object.keys(archiveEntryNames).length }
  return {
    hasSums: true,
    entries(onChunk) {
      const chunks = chunksOf(file, onChunk)
      return archiveEntries(encrypted ? payloadOf(archiveEntries(chunks, outer), identities) : chunks, bounds)
    },
  }
}

/** Returns the bytes that are read of a backup. */
export async function bytesOf(file: string): Promise<number> {
  return (await isUnpackedBackup(file)) ? (await unpackedExtent(file)).bytes : (await stat(file)).size
}

/** Reads `backup.json`, and looks whether an encrypted archive follows. */
async function beginning(file: string): Promise<PublicHeader & { readonly bytes: Buffer }> {
  if (await isUnpackedBackup(file)) {
    const bytes = await unpackedHeader(file)
    return { bytes, header: parseHeader(bytes), encrypted: false }
  }
  let read: { readonly header: BackupHeader; readonly bytes: Buffer } | undefined
  for await (const entry of archiveEntries(chunksOf(file), { maxBytes: Number.MAX_SAFE_INTEGER })) {
    if (read !== undefined) return { ...read, encrypted: entry.path === archiveEntryNames.payload }
    if (entry.path !== archiveEntryNames.header || entry.type !== 'file') {
      throw new ArchiveError(`is no backup of Nodekeep: it does not begin with ${archiveEntryNames.header}`)
    }
    if (entry.size > maxHeaderBytes)
      throw new ArchiveError(`has a ${archiveEntryNames.header} that is too large`)
    const bytes = Buffer.concat(await Array.fromAsync(entry.content))
    // The rest may have a newer format, which this version does not know.
    read = { bytes, header: parseHeader(bytes) }
  }
  throw new ArchiveError(`is cut short: it has only a ${archiveEntryNames.header}`)
}

async function* chunksOf(file: string, onChunk: (bytes: number) => void = () => {}): AsyncGenerator<Buffer> {
  const found = await stat(file)
  // A pipe would wait for a writer.
  if (!found.isFile()) throw new ArchiveError('is neither a file nor a folder')
  await access(file, constants.R_OK).catch(() => {
    throw new ArchiveError('cannot be read by this user. Run the command as the user who owns it')
  })
  for await (const chunk of createReadStream(file, { highWaterMark: chunkBytes })) {
    yield chunk
    onChunk(chunk.length)
  }
}

/** The bytes of the encrypted archive. The iteration ends when the archive around it has ended well. */
async function* payloadOf(
  entries: AsyncIterable<ReadableEntry>,
  identities: readonly string[],
): AsyncGenerator<Uint8Array> {
  // The library of age is loaded for encrypted archives only.
  const { decrypted } = await import('./age.ts')
  for await (const { path, content } of entries) {
    if (path === archiveEntryNames.payload) yield* decrypted(content, identities)
    else if (path !== archiveEntryNames.header)
      throw new ArchiveError('has something beside its encrypted part')
  }
}

async function checked(
  entries: AsyncIterable<ReadableEntry>,
  {
    folder,
    others = [],
    sample: rule,
    userFiles: order,
  }: Omit<ReadSettings, 'file' | 'identities' | 'maxBytes'>,
  {
    header,
    bytes,
    hasSums,
  }: { readonly header: BackupHeader; readonly bytes: Buffer; readonly hasSums: boolean },
): Promise<Omit<VerifiedBackup, keyof PublicHeader>> {
  const manifest = new ManifestCheck(hasSums)
  let isEnded = false
  async function* watched(): AsyncGenerator<ReadableEntry> {
    for await (const entry of entries) {
      if (isEnded) throw new ArchiveError(`has something behind its manifest`)
      if (entry.type === 'file' && others.some(({ below }) => entry.path === below)) {
        throw new ArchiveError(`is no backup of a node: ${JSON.stringify(entry.path)} is a file`)
      }
      isEnded = entry.path === archiveEntryNames.manifest
      if (isEnded) yield { ...entry, content: observed(entry.content, (chunk) => manifest.read(chunk)) }
      else yield userFiles?.watch(entry) ?? entry
    }
  }
  const sum = { entries: 0, bytes: 0 }
  const sample = rule && new Sample(rule)
  const userFiles = order && new UserFiles(order, header)
  const placeOf = (entry: ArchiveEntry) => {
    if (userFiles !== undefined) {
      const place = userFiles.placeOf(entry)
      return folder === null || place === null ? null : join(folder, place)
    }
    if (folder === null || sample?.includes(entry) === false) return null
    const { path } = entry
    const other = others.find(({ below }) => path === below || path.startsWith(`${below}/`))
    return other === undefined ? join(folder, path) : join(other.folder, path.slice(other.below.length))
  }
  const headerSum = hash('sha256', bytes)
  for await (const entry of unpackEntries(watched(), placeOf, { sync: true })) {
    if (entry.path === archiveEntryNames.manifest) manifest.end()
    else {
      // In an encrypted archive, the header inside proves the one outside.
      if (sum.entries === 0 && (entry.path !== archiveEntryNames.header || entry.sha256 !== headerSum)) {
        throw new ArchiveError(`is damaged: its two headers differ`)
      }
      manifest.expect(entry)
      sum.entries += 1
      sum.bytes += entry.size
    }
  }
  if (!isEnded) throw new ArchiveError(`is cut short: it has no ${archiveEntryNames.manifest}`)
  return { ...sum, ...(userFiles && { userFiles: userFiles.result() }) }
}

async function* observed(
  content: AsyncIterable<Uint8Array>,
  onChunk: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    onChunk(chunk)
    yield chunk
  }
}
