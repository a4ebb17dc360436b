/** The thread that unpacks an archive, so that neither a bomb nor a large archive keeps the event loop busy. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { answerInThread } from '../threads.ts'
import { archiveEntries } from './archive-entries.ts'
import { type HashedEntry, unpackEntries } from './hashed-entries.ts'

/** The data that the thread is started with. */
export interface UnpackingOrder {
  readonly file: string
  readonly folder: string
  readonly maxBytes: number
  readonly maxEntries: number
}

/** A step of the thread: an entry was written, or a share of the file was read, from 0 to 1. */
export type UnpackingStep =
  | { readonly kind: 'entry'; readonly entry: HashedEntry }
  | { readonly kind: 'progress'; readonly share: number }

await answerInThread<UnpackingOrder, UnpackingStep, void>(async ({ file, folder, ...bounds }, send) => {
  const chunks = chunksOf(file, (share) => send({ kind: 'progress', share }))
  for await (const entry of unpackEntries(archiveEntries(chunks, bounds), folder))
    send({ kind: 'entry', entry })
})

/** Reads the file, and tells the progress at most a hundred times. */
async function* chunksOf(
  file: string,
  onProgress: (share: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const { size } = await stat(file)
  let [read, told] = [0, 0]
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
    yield chunk
    read += chunk.length
    const share = Math.min(1, read / size)
    if (share - told < 0.01) continue
    told = share
    onProgress(share)
  }
}
