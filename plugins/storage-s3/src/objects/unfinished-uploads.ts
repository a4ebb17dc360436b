import type { ListMultipartUploadsCommandOutput, S3 } from '@aws-sdk/client-s3'
import { isMissingObject } from '../server/failures.ts'

/**
 * Removes uploads in parts that have begun before a time and have no end: their node was killed, or the server was away. They
 * take space that no listing shows.
 *
 * @returns how many were removed
 */
export async function removeUnfinishedUploads(
  s3: S3,
  place: { readonly Bucket: string; readonly Prefix: string },
  before: Date,
  abortSignal: AbortSignal,
): Promise<number> {
  let removed = 0
  for (let next: object | null = {}; next !== null; ) {
    // Without encoded keys: Ceph encodes them, and does not say so.
    const page: ListMultipartUploadsCommandOutput = await s3.listMultipartUploads(
      { ...place, ...next },
      { abortSignal },
    )
    for (const { Key, UploadId, Initiated = before } of page.Uploads ?? []) {
      if (Initiated >= before) continue
      try {
        await s3.abortMultipartUpload({ Bucket: place.Bucket, Key, UploadId }, { abortSignal })
        removed += 1
      } catch (error) {
        // Another node has removed it, or its key cannot be told in XML.
        if (!isMissingObject(error)) throw error
      }
    }
    const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page
    next = page.IsTruncated ? { KeyMarker, UploadIdMarker } : null
  }
  return removed
}
