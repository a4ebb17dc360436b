import { createHash } from 'node:crypto'
import type { S3 } from '@aws-sdk/client-s3'
import { concurrently, type FlatObject, type FlatPutOptions } from '@nodekeep/plugin-sdk'
import { type CommitOptions, commit } from './commit.ts'
import { metadataOf } from './object.ts'
import { PartUpload, type Place } from './part-upload.ts'
import { partBytesFor, partsOf } from './parts.ts'

/** Parts of one content in memory: two that are sent, and one that arrives. */
const partsAtOnce = 3

interface WriteOptions extends FlatPutOptions, CommitOptions {
  /** Waits for the memory of a part. */
  readonly acquire: (partBytes: number) => Promise<() => void>
  /** Returns the header that makes the server check what it replaces. */
  readonly conditionOf: (replaces: FlatObject | null) => { IfMatch?: string; IfNoneMatch?: string }
}

/**
 * Stores a content: with one request up to the bytes of a part, a larger one in parts.
 *
 * @returns its number of bytes
 */
export async function putObject(
  s3: S3,
  place: Place,
  content: AsyncIterable<Uint8Array>,
  options: WriteOptions,
): Promise<number> {
  const { signal, size, acquire, beforeCommit } = options
  const partBytes = partBytesFor(size)
  const parts = partsOf(content, partBytes, () => acquire(partBytes))
  const upload = new PartUpload(s3, place, options)
  let isWhole = false
  let stored = 0
  try {
    await concurrently(parts, partsAtOnce, async (part, failed) => {
      try {
        stored += part.bytes.length
        isWhole = part.number === 1 && part.isLast
        if (isWhole) return await putWhole(s3, place, part.bytes, options)
        await upload.send(part.number, part.bytes, AbortSignal.any([signal, failed]))
      } finally {
        part.release()
      }
    })
    if (isWhole) return stored
    await beforeCommit()
    await upload.complete()
    return stored
  } catch (error) {
    if (!isWhole) await upload.abort()
    throw error
  }
}

async function putWhole(s3: S3, place: Place, bytes: Uint8Array, options: WriteOptions): Promise<void> {
  const { replaces, signal, beforeCommit, conditionOf } = options
  await beforeCommit()
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const condition = replaces === undefined ? {} : conditionOf(replaces)
  const object = {
    ...place,
    ...condition,
    Body: bytes,
    ContentLength: bytes.length,
    Metadata: metadataOf(options, sha256),
  }
  await commit(options, async () => {
    const { ETag } = await s3.putObject(object, { abortSignal: signal })
    if (ETag === undefined) throw new Error('The answer is not that of an S3 server.')
  })
}
