/** The thread that unpacks an archive, so that neither a bomb nor a large archive keeps the event loop busy. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { archiveEntries } from './archive-entries.ts'
import { archiveFailure } from './archive-failure.ts'
import { unpackEntries } from './hashed-entries.ts'
import type { FromThread, ThreadSettings } from './protocol.ts'

if (parentPort === null) throw new Error('This file is the entry point of a worker thread.')
const port = parentPort
const settings = workerData as ThreadSettings
const send = (message: FromThread) => port.postMessage(message)

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
  const { file, folder, maxBytes, maxEntries } = settings
  const entries = archiveEntries(chunksOf(file), { maxBytes, maxEntries })
  for await (const { sha256, ...entry } of unpackEntries(entries, folder))
    send({ kind: 'entry', entry, sha256 })
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
