import type { ListObjectsV2CommandOutput, S3 } from '@aws-sdk/client-s3'
import type { FlatPage, FlatPageOptions } from '@nodekeep/plugin-sdk'
import { etagOf } from './object.ts'

/** Lists keys. Listings tell no metadata, so an object is told by its ETag, size and time. */
export async function pageOf(
  s3: S3,
  bucket: string,
  prefix: string,
  { isDeep, after, next, limit, signal }: FlatPageOptions,
): Promise<FlatPage> {
  const page = await s3.listObjectsV2(
    {
      Bucket: bucket,
      Prefix: prefix,
      // XML cannot hold all characters of keys.
      EncodingType: 'url',
      ...(limit !== undefined && { MaxKeys: limit }),
      ...(!isDeep && { Delimiter: '/' }),
      ...(next !== undefined ? { ContinuationToken: next } : after !== undefined && { StartAfter: after }),
    },
    { abortSignal: signal },
  )
  return {
    objects: (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified = new Date(0), ETag }) => ({
      key: decodedKey(Key, page),
      size: Size,
      modified: LastModified,
      etag: etagOf(ETag),
    })),
    folders: (page.CommonPrefixes ?? []).map(({ Prefix = '' }) => decodedKey(Prefix, page)),
    next: nextOf(page),
  }
}

/** @throws Error for an answer that ends too early: it would pass for the whole listing */
function nextOf({ IsTruncated, NextContinuationToken }: ListObjectsV2CommandOutput): string | null {
  if (IsTruncated === undefined) throw new Error('The answer of the server is no listing.')
  if (!IsTruncated) return null
  if (NextContinuationToken === undefined) throw new Error('The server does not say how its listing goes on.')
  return NextContinuationToken
}

/** Returns a key of a listing. Servers that encode keys write a blank as "+" or as "%20". */
function decodedKey(key: string, page: { readonly EncodingType?: string | undefined }): string {
  return page.EncodingType === 'url' ? decodeURIComponent(key.replaceAll('+', ' ')) : key
}
