import { createHash } from 'node:crypto'
import type { S3 } from '@aws-sdk/client-s3'
import { concurrently, type FlatObject, type FlatPutOptions, NodekeepError } from '@nodekeep/plugin-sdk'
import { type CommitOptions, commit } from './commit.ts'
import { metadataOf } from './object.ts'
import { PartUpload, type Place } from './part-upload.ts'
import { partBytes, partsOf } from './parts.ts'

/** Parts of one content in memory: two that are sent, and one that arrives. */
const partsAtOnce = 3

/** The most parts that an object may have. */
const mostParts = 10_000

export interface WriteOptions extends FlatPutOptions, CommitOptions {
  /** Waits for the memory of a part. */
  readonly acquire: () => Promise<() => void>
  /** Returns the header that makes the server check what it replaces. */
  readonly conditionOf: (replaces: FlatObject | null) => { IfMatch?: string; IfNoneMatch?: string }
}

/** Stores a content: with one request up to {@link partBytes}, a larger one in parts. */
export async function putObject(
  s3: S3,
  place: Place,
  content: AsyncIterable<Uint8Array>,
  options: WriteOptions,
): Promise<void> {
  const { signal, size = 0, acquire, beforeCommit } = options
  if (size > mostParts * partBytes) throw tooLarge()
  const upload = new PartUpload(s3, place, options)
  let isWhole = false
  try {
    await concurrently(partsOf(content, acquire), partsAtOnce, async (part, failed) => {
      try {
        isWhole = part.number === 1 && part.isLast
        if (isWhole) return await putWhole(s3, place, part.bytes, options)
        if (part.number > mostParts) throw tooLarge()
        await upload.send(part.number, part.bytes, AbortSignal.any([signal, failed]))
      } finally {
        part.release()
      }
    })
    if (isWhole) return
    await beforeCommit()
    await upload.complete()
  } catch (error) {
    if (!isWhole) await upload.abort()
    throw error
  }
}

async function putWhole(s3: S3, place: Place, bytes: Uint8Array, options: WriteOptions): Promise<void> {
  const { signal, beforeCommit, conditionOf } = options
  const { replaces } = await beforeCommit()
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const condition = replaces === undefined ? {} : conditionOf(replaces)
  const object = { ...place, ...condition, Body: bytes, Metadata: metadataOf(options, sha256) }
  await commit(options, () => s3.putObject(object, { abortSignal: signal }))
}

function tooLarge(): NodekeepError {
  const message = `The file is too large for this storage: it takes up to ${(mostParts * partBytes) / 2 ** 20} MiB.`
  return new NodekeepError('VALIDATION_ERROR', message)
}
