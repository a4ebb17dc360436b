/** The thread that reads a backup, so that neither a bomb nor a large backup keeps the event loop busy. It sends its progress. */
import { answerInThread } from '@nodekeep/plugin-sdk/threads'
import { bytesOf, type ReadSettings, readBackup, type VerifiedBackup } from './read-backup.ts'

await answerInThread<ReadSettings, number, VerifiedBackup>(async (settings, send) => {
  // The read itself tells why there is nothing to read.
  const size = await bytesOf(settings.file).catch(() => 0)
  let [read, told] = [0, 0]
  return await readBackup(settings, (bytes) => {
    read += bytes
    const share = Math.min(1, read / size)
    if (share - told < 0.01) return
    told = share
    send(share)
  })
})
