/** The thread that packs, hashes, compresses, encrypts and writes an archive. The main thread only reads the sources. */
import { createHash, type Hash } from 'node:crypto'
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import { EntryTree } from '@nodekeep/plugin-sdk/archive'
import { archiveEntryNames, maxEntries } from './backup-header.ts'
import { gzipMembers, storedMember } from './gzip-members.ts'
import { ManifestWriter, manifestEntry } from './manifest.ts'
import { shortTarHeader, tarEnd, tarHeader, tarPadding } from './tar-blocks.ts'
import type { EntryHead, FromWriter, ToWriter, WriteSettings } from './write-protocol.ts'

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const { file, header, recipients, level, memory } = workerData as WriteSettings
const send = (message: FromWriter) => port.postMessage(message)
const waiting: ToWriter[] = []
let wake = () => {}
port.on('message', (message: ToWriter) => {
  if (message.kind === 'cancel') process.exit()
  waiting.push(message)
  wake()
})
const headerBytes = Buffer.from(`${JSON.stringify(header, null, 2)}\n`)
const moment = new Date(header.created)

/**
 * The number of bytes between two syncs of the archive. A single sync at its end would have hundreds of mebibytes to bring to the disk,
 * and the durable writes of clients would wait for that.
 */
const bytesBetweenSyncs = 8 * 1024 * 1024

const descriptor = openSync(file, 'r+')
let written = 0
let synced = 0
try {
  if (recipients.length > 0) await writeEncrypted()
  else for await (const member of gzipMembers(tarOfEverything(), level)) write(...member)
  fsyncSync(descriptor)
  send({ kind: 'done', size: written })
} finally {
  closeSync(descriptor)
  port.close()
}

/**
 * Writes `backup.json` and an encrypted archive behind it. The tar header of the latter has its size, which is known at the
 * end; it is in a stored gzip member of its own, which has the same length whatever the size is.
 */
async function writeEncrypted(): Promise<void> {
  // The library of age is loaded for encrypted archives only.
  const { encrypted } = await import('./age.ts')
  write(gzipSync(Buffer.concat([...wholeEntry(archiveEntryNames.header, [headerBytes], headerBytes.length)])))
  const headerAt = written
  write(payloadHeader(0))
  let size = 0
  async function* plain() {
    // The stream of age keeps chunks for a while.
    for await (const member of gzipMembers(tarOfEverything(), level)) yield Buffer.concat(member)
  }
  async function* payload() {
    for await (const chunk of encrypted(plain(), recipients)) {
      size += chunk.length
      yield chunk
    }
    yield tarPadding(size)
    yield tarEnd
  }
  for await (const member of gzipMembers(payload(), 0)) write(...member)
  writeAll(payloadHeader(size), headerAt)
}

function payloadHeader(size: number): Buffer {
  const modified = new Date(Math.floor(moment.getTime() / 1000) * 1000)
  const head = shortTarHeader({ path: archiveEntryNames.payload, type: 'file', size, modified })
  return Buffer.concat(storedMember(head))
}

/** The uncompressed archive: the header, the entries that the main thread sends, the checksums, the manifest. */
async function* tarOfEverything(): AsyncGenerator<Uint8Array, void, undefined> {
  const tree = new EntryTree(maxEntries)
  for (const name of Object.values(archiveEntryNames)) tree.add(name, 'file')
  const manifest = new ManifestWriter()
  yield* wholeEntry(archiveEntryNames.header, [headerBytes], headerBytes.length, manifest)
  let entry: { readonly head: EntryHead; readonly hash: Hash } | null = null
  for await (const { parts, memory: index } of batches()) {
    const bytes = memory[index] as Uint8Array
    let at = 0
    for (const { begins, length, ends } of parts) {
      if (begins !== null) {
        tree.add(begins.path, begins.type)
        entry = { head: begins, hash: createHash('sha256') }
        yield tarHeader(begins)
      }
      if (entry === null) throw new Error('A content has no entry.')
      const content = bytes.subarray(at, at + length)
      at += length
      entry.hash.update(content)
      yield content
      if (ends === null) continue
      yield tarPadding(entry.head.size)
      manifest.add(manifestEntry(entry.head, { sha256: entry.hash.digest('hex'), changed: ends.changed }))
      entry = null
    }
    send({ kind: 'free', memory: index })
  }
  yield* wholeEntry(archiveEntryNames.sums, manifest.sums(), manifest.sumsBytes, manifest)
  yield* wholeEntry(archiveEntryNames.manifest, manifest.manifest(), manifest.manifestBytes)
  yield tarEnd
}

function* wholeEntry(
  path: string,
  content: Iterable<Buffer>,
  size: number,
  manifest?: ManifestWriter,
): Generator<Buffer, void, undefined> {
  const head: EntryHead = { path, type: 'file', size, modified: moment }
  const hash = createHash('sha256')
  yield tarHeader(head)
  for (const chunk of content) {
    hash.update(chunk)
    yield chunk
  }
  yield tarPadding(size)
  manifest?.add(manifestEntry(head, { sha256: hash.digest('hex') }))
}

/** The batches, until the main thread says that there are no more. */
async function* batches(): AsyncGenerator<Extract<ToWriter, { kind: 'batch' }>, void, undefined> {
  for (;;) {
    const message = waiting.shift()
    if (message?.kind === 'end') return
    if (message?.kind === 'batch') {
      yield message
      // Between two batches, the thread hears that it ends.
      await setImmediate()
    } else await new Promise<void>((resolve) => (wake = resolve))
  }
}

function write(...pieces: readonly Uint8Array[]): void {
  for (const piece of pieces) {
    writeAll(piece, written)
    written += piece.length
  }
  if (written - synced < bytesBetweenSyncs) return
  fdatasyncSync(descriptor)
  synced = written
}

function writeAll(bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done)
  }
}
