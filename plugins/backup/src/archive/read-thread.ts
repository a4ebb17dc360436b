/** The thread that reads a backup, so that neither a bomb nor a large backup keeps the event loop busy. */
import { parentPort, workerData } from 'node:worker_threads'
import { type ArchiveFailure, archiveFailure } from '@nodekeep/plugin-sdk/archive'
import { bytesOf, type ReadSettings, readBackup, type VerifiedBackup } from './read-backup.ts'

/** Messages from this thread. */
export type FromReader =
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'done'; readonly backup: VerifiedBackup }
  | { readonly kind: 'failed'; readonly failure: ArchiveFailure }

const settings = workerData as ReadSettings
const send = (message: FromReader) => parentPort?.postMessage(message)

try {
  // The read itself tells why there is nothing to read.
  const size = await bytesOf(settings.file).catch(() => 0)
  let [read, told] = [0, 0]
  const backup = await readBackup(settings, (bytes) => {
    read += bytes
    const share = Math.min(1, read / size)
    if (share - told < 0.01) return
    told = share
    send({ kind: 'progress', share })
  })
  send({ kind: 'done', backup })
} catch (error) {
  const failure = archiveFailure(error)
  if (failure === null) throw error
  send({ kind: 'failed', failure })
}
