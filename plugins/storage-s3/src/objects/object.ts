import type { FlatMetadata, FlatObject } from '@nodekeep/plugin-sdk'

/** An object of the bucket. Its ETag is without quotes. */
export interface S3Object extends FlatObject {
  readonly created: Date
  readonly revision: string
  readonly etag: string
  /** The SHA-256 of its bytes in hex; undefined for objects of several parts, and of other programs. */
  readonly sha256: string | undefined
}

/** The parts of an answer of the server about an object. */
interface Head {
  readonly ContentLength?: number | undefined
  readonly ETag?: string | undefined
  readonly LastModified?: Date | undefined
  readonly Metadata?: Readonly<Record<string, string>> | undefined
}

/** The names of the metadata: `x-amz-meta-nodekeep-revision` and so on. Times are of RFC 3339. */
const names = {
  revision: 'nodekeep-revision',
  created: 'nodekeep-created',
  modified: 'nodekeep-modified',
  sha256: 'nodekeep-sha256',
} as const

/** The metadata of a new object. */
export function metadataOf(
  { revision, created, modified = new Date() }: FlatMetadata,
  sha256?: string,
): Record<string, string> {
  return {
    [names.revision]: revision,
    [names.created]: created.toISOString(),
    [names.modified]: modified.toISOString(),
    ...(sha256 !== undefined && { [names.sha256]: sha256 }),
  }
}

/**
 * @param size bytes of the whole object, if the answer is about a part of it
 * @throws Error for an answer of something else than an S3 server: it would pass for an empty file
 */
export function objectOf(key: string, head: Head, size = head.ContentLength ?? 0): S3Object {
  if (head.ETag === undefined) throw new Error('The answer is not that of an S3 server.')
  const metadata = head.Metadata ?? {}
  const etag = etagOf(head.ETag)
  const stored = head.LastModified ?? new Date(0)
  return {
    key,
    size,
    etag,
    modified: timeOf(metadata[names.modified]) ?? stored,
    created: timeOf(metadata[names.created]) ?? stored,
    revision: metadata[names.revision] ?? `${etag}-${stored.getTime()}`,
    sha256: metadata[names.sha256],
  }
}

/** Some servers write ETags with quotes in some answers, and without in others. */
export function etagOf(etag = ''): string {
  return etag.replaceAll('"', '')
}

function timeOf(text: string | undefined): Date | undefined {
  const time = new Date(text ?? '')
  return Number.isNaN(time.getTime()) ? undefined : time
}
