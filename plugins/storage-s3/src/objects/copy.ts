import type { S3 } from '@aws-sdk/client-s3'
import { concurrently, type FlatCopyOptions, NodekeepError } from '@nodekeep/plugin-sdk'
import { type CommitOptions, commit } from './commit.ts'
import { etagOf, metadataOf, type S3Object } from './object.ts'
import { PartUpload, type Place } from './part-upload.ts'

/** The largest copy with one request. A server is silent while it copies, so larger ones are made in parts of this size. */
const largestCopy = 256 * 2 ** 20

/** Parts of a copy that the server makes at a time. */
const partsAtOnce = 4

/**
 * Copies an object within the server.
 *
 * @param largest bytes of the largest copy with one request
 * @throws NodekeepError CONFLICT if the source was changed while its parts were copied
 */
export async function copyObject(
  s3: S3,
  source: S3Object,
  place: Place,
  options: FlatCopyOptions & CommitOptions,
  largest = largestCopy,
): Promise<void> {
  const { beforeCommit, signal } = options
  const { key, size, sha256, etag } = source
  const path = `${place.Bucket}/${key.split('/').map(encodeURIComponent).join('/')}`
  if (size <= largest) {
    await beforeCommit()
    const metadata = { MetadataDirective: 'REPLACE', Metadata: metadataOf(options, sha256) } as const
    const copy = { ...place, ...metadata, CopySource: path }
    await commit(options, async () => {
      const { CopyObjectResult } = await s3.copyObject(copy, { abortSignal: signal })
      if (sha256 === undefined || etagOf(CopyObjectResult?.ETag) === etag) return
      // The source was changed a moment ago, or an ETag is not of the bytes alone. The checksum may be wrong.
      await s3.copyObject({ ...copy, Metadata: metadataOf(options) }, { abortSignal: signal })
    })
    return
  }
  const upload = new PartUpload(s3, place, options)
  try {
    const numbers = Array.from({ length: Math.ceil(size / largest) }, (_, index) => index + 1)
    await concurrently(numbers, partsAtOnce, (number, failed) => {
      const range = { start: (number - 1) * largest, end: Math.min(number * largest, size) }
      return upload.copy(number, path, range, AbortSignal.any([signal, failed]))
    })
    const { ETag } = await s3.headObject({ Bucket: place.Bucket, Key: key }, { abortSignal: signal })
    if (etagOf(ETag) !== etag)
      throw new NodekeepError('CONFLICT', 'The file was changed while it was copied. Try again.')
    await beforeCommit()
    await upload.complete()
  } catch (error) {
    await upload.abort()
    throw error
  }
}
