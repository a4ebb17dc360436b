import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import type { DiskReserve } from '../quota/disk-reserve.ts'

/** Content that is stored in a temporary file until its path is known. */
interface Spooled {
  /** The bytes, once. */
  content(): AsyncIterable<Uint8Array>
  /** Removes the file. */
  discard(): Promise<void>
}

/** Stores content in a temporary file. When that fails, the file is removed. */
export type Spool = (content: AsyncIterable<Uint8Array>) => Promise<Spooled>

/** Makes the folder for temporary files. Files that the last run left there are removed. */
export async function openSpool(dataDir: string, reserve: Pick<DiskReserve, 'check'>): Promise<Spool> {
  const folder = join(dataDir, 'incoming')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  return (content) => spool(join(folder, randomUUID()), checked(content, reserve))
}

async function spool(path: string, content: AsyncIterable<Uint8Array>): Promise<Spooled> {
  const file = await open(path, 'wx')
  try {
    await file.writeFile(content)
    await file.close()
    const discard = () => rm(path, { force: true })
    return { discard, content: () => contentOf(path) }
  } catch (error) {
    await file.close()
    await rm(path, { force: true })
    throw isDiskFull(error) ? noRoom(error) : error
  }
}

/** Passes content on while there is enough left of the disk. */
async function* checked(content: AsyncIterable<Uint8Array>, reserve: Pick<DiskReserve, 'check'>) {
  for await (const chunk of content) {
    await reserve.check(null, chunk.byteLength)
    yield chunk
  }
}

/** Opens the file at the first read. A stream that nobody reads would keep the file open forever. */
async function* contentOf(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield* createReadStream(path, { highWaterMark: 256 * 1024 })
}

function noRoom(cause: unknown): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    'The disk of the node is full. Delete files that are no longer needed.',
    { cause },
  )
}
