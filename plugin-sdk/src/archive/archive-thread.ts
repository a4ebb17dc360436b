/** The thread that reads an archive, so that neither a bomb nor a large archive keeps the event loop busy. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { archiveEntries, type ReadableEntry } from './archive-entries.ts'
import { archiveFailure } from './archive-failure.ts'
import { hashEntries, unpackEntries } from './hashed-entries.ts'
import { chunksAhead, type FromThread, type ThreadSettings } from './protocol.ts'

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
  const entries = archiveEntries(chunksOf(file), { maxBytes, maxEntries })
  if (task.kind === 'send') for await (const entry of entries) await sendEntry(entry)
  else {
    const read = task.kind === 'unpack' ? unpackEntries(entries, task.folder) : hashEntries(entries)
    for await (const { sha256, ...entry } of read) send({ kind: 'entry', entry, sha256 })
  }
}

/** Reads the file, and tells the progress at most a hundred times. */
async function* chunksOf(file: string): AsyncGenerator<Buffer, void, undefined> {
  const { size } = await stat(file)
  let [read, told] = [0, 0]
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
    yield chunk
    read += chunk.length
    const share = Math.min(1, read / size)
    if (share - told < 0.01) continue
    told = share
    send({ kind: 'progress', share })
  }
}

async function sendEntry({ content, ...entry }: ReadableEntry): Promise<void> {
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
