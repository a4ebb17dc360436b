import type { S3 } from '@aws-sdk/client-s3'
import { concurrently, type FlatCopyOptions } from '@nodekeep/plugin-sdk'
import { type CommitOptions, commit } from './commit.ts'
import { metadataOf, type S3Object } from './object.ts'
import { PartUpload, type Place } from './part-upload.ts'

/** The largest copy with one request. A server is silent while it copies, so larger ones are made in parts of this size. */
const largestCopy = 256 * 2 ** 20

/** Parts of a copy that the server makes at a time. */
const partsAtOnce = 4

/** Copies an object within the server. */
export async function copyObject(
  s3: S3,
  source: S3Object,
  place: Place,
  options: FlatCopyOptions & CommitOptions,
): Promise<void> {
  const { beforeCommit, signal } = options
  const { key, size, sha256 } = source
  const path = `${place.Bucket}/${key.split('/').map(encodeURIComponent).join('/')}`
  if (size <= largestCopy) {
    await beforeCommit()
    const metadata = { MetadataDirective: 'REPLACE', Metadata: metadataOf(options, sha256) } as const
    const copy = { ...place, ...metadata, CopySource: path }
    await commit(options, () => s3.copyObject(copy, { abortSignal: signal }))
    return
  }
  const upload = new PartUpload(s3, place, options)
  try {
    const numbers = Array.from({ length: Math.ceil(size / largestCopy) }, (_, index) => index + 1)
    await concurrently(numbers, partsAtOnce, (number, failed) => {
      const range = { start: (number - 1) * largestCopy, end: Math.min(number * largestCopy, size) }
      return upload.copy(number, path, range, AbortSignal.any([signal, failed]))
    })
    await beforeCommit()
    await upload.complete()
  } catch (error) {
    await upload.abort()
    throw error
  }
}
