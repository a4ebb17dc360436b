/** The thread that reads an archive, so that neither a bomb nor a large archive keeps the event loop busy. */
import { createHash } from 'node:crypto'
import { closeSync, futimesSync, mkdirSync, openSync, utimesSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import type { ArchiveEntry } from './archive-entry.ts'
import { archiveFailure } from './archive-failure.ts'
import { ByteReader } from './byte-reader.ts'
import { EntryTree } from './entry-tree.ts'
import { inflate } from './inflate.ts'
import { chunksAhead, type FromThread, type ThreadSettings } from './protocol.ts'
import { readTar, type TarEntry } from './tar-entries.ts'

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const settings = workerData as ThreadSettings
const send = (message: FromThread, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer)

let free = chunksAhead
let onFree: () => void = () => {}
port.on('message', () => {
  free += 1
  onFree()
})

try {
  await read()
  send({ kind: 'end' })
} catch (error) {
  const failure = archiveFailure(error)
  if (failure === null) throw error
  send({ kind: 'failed', failure })
} finally {
  port.close()
}

async function read(): Promise<void> {
  const { file, maxBytes, maxEntries, task } = settings
  const tree = new EntryTree(maxEntries)
  const folders: ArchiveEntry[] = []
  let told = 0
  const tell = (share: number) => {
    if (share - told < 0.01) return
    told = share
    send({ kind: 'progress', share })
  }
  for await (const { content, ...entry } of readTar(new ByteReader(inflate(file, maxBytes, tell)))) {
    tree.add(entry.path, entry.type)
    if (task.kind === 'send') await sendEntry(entry, content)
    else {
      const hash = createHash('sha256')
      if (task.kind !== 'unpack') for await (const chunk of content) hash.update(chunk)
      else if (entry.type === 'file') {
        await writeFile(join(task.folder, entry.path), entry, content, (chunk) => hash.update(chunk))
      } else {
        mkdirSync(join(task.folder, entry.path), { recursive: true })
        folders.push(entry)
      }
      send({ kind: 'entry', entry, sha256: entry.type === 'file' ? hash.digest('hex') : null })
    }
  }
  if (task.kind !== 'unpack') return
  // Writing into a folder changes its time, so inner folders come first.
  for (const { path, modified } of folders.reverse()) utimesSync(join(task.folder, path), modified, modified)
}

/**
 * Writes a new file. The folders above it were made by this thread, and nothing of an archive can make a link, so the path
 * stays in the folder.
 */
async function writeFile(
  path: string,
  { modified, executable }: ArchiveEntry,
  content: TarEntry['content'],
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  mkdirSync(dirname(path), { recursive: true })
  const descriptor = openSync(path, 'wx', executable ? 0o777 : 0o666)
  try {
    for await (const chunk of content) {
      onChunk(chunk)
      for (let written = 0; written < chunk.length; ) written += writeSync(descriptor, chunk, written)
    }
    futimesSync(descriptor, modified, modified)
  } finally {
    closeSync(descriptor)
  }
}

async function sendEntry(entry: ArchiveEntry, content: TarEntry['content']): Promise<void> {
  await slot()
  send({ kind: 'entry', entry, sha256: null })
  for await (const chunk of content) {
    await slot()
    const bytes = Uint8Array.from(chunk)
    send({ kind: 'chunk', bytes }, [bytes.buffer])
  }
}

/** Waits until the reader is less than `chunksAhead` messages behind. */
async function slot(): Promise<void> {
  while (free === 0) await new Promise<void>((resolve) => (onFree = resolve))
  free -= 1
}
