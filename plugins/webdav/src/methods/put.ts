import { createHash, type Hash } from 'node:crypto'
import { clientSignal, invalid, NodekeepError, parentOf } from '@nodekeep/plugin-sdk'
import { entityTag, timeOfSeconds, writeConditions } from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type DavRequest, entryAt, requireParent } from '../dav-request.ts'

/** The checksums of ownCloud that the node can verify. It takes others, such as ADLER32, without verifying them. */
const algorithms: Readonly<Record<string, string>> = { MD5: 'md5', SHA1: 'sha1', SHA256: 'sha256' }

/** A checksum that a client sent with a file. */
interface Checksum {
  readonly algorithm: string
  /** Hexadecimal, in lower case. */
  readonly digest: string
}

/** Answers PUT (RFC 4918, section 9.7): stores a file. Its folder must be there. */
export async function put(dav: DavRequest): Promise<FastifyReply> {
  const { request, reply, files, path, hasSlash, services } = dav
  refusePartsAndCodings(request)
  const size = announcedSize(request)
  if (Math.max(size ?? 0, expectedSize(request)) > services.files.maxFileSize)
    throw new NodekeepError(
      'PAYLOAD_TOO_LARGE',
      `The file is larger than ${services.files.maxFileSize} bytes (storage.maxFileSize).`,
    )
  const former = await entryAt(dav, path)
  if (former?.type === 'directory') throw notAFile()
  if (former === null) {
    if (hasSlash) throw new NodekeepError('CONFLICT', 'The address of a file must not end with a slash.')
    await requireParent(dav, path)
  }
  const conditions = await writeConditions(files, path, request.headers)
  const change = { changed: [path], folders: former === null ? [parentOf(path)] : [] }
  dav.checkLocks(change)
  const modified = timeOf(request)
  const checksum = checksumOf(request)
  // Leaving the loop must not end the connection, because an error is still to be sent on it.
  const body: AsyncIterable<Uint8Array> = request.raw.iterator({ destroyOnReturn: false })
  async function* content(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* checksum === null ? body : verified(body, checksum)
    // Another program may have locked the file while it arrived.
    dav.checkLocks(change)
  }
  const written = await files.write(path, content(), {
    ...conditions,
    ...(modified !== null && { modified }),
    ...(size !== null && { size }),
    ...(checksum?.algorithm === 'sha256' && { sha256: checksum.digest }),
    freeChunks: true,
    signal: clientSignal(reply),
  })
  reply.header('etag', entityTag(written))
  if (modified !== null && Math.abs(written.modified.getTime() - modified.getTime()) < 2000)
    reply.header('x-oc-mtime', 'accepted')
  return reply.code(former === null ? 201 : 204).send()
}

/** A folder cannot be stored as a file. */
function notAFile(): NodekeepError {
  return new NodekeepError(
    'METHOD_NOT_ALLOWED',
    'A folder is at this address. Choose another name for the file.',
    {
      headers: { allow: 'OPTIONS, PROPFIND, PROPPATCH, COPY, MOVE, DELETE, LOCK, UNLOCK' },
    },
  )
}

/** A part of a file would be stored as the whole file (RFC 9110, section 14.5), and compressed bytes as its content. */
function refusePartsAndCodings({ headers }: FastifyRequest): void {
  if (headers['content-range'] !== undefined)
    throw invalid('A file is stored whole. Send it without "content-range".')
  const transfer = headers['transfer-encoding']
  if (transfer !== undefined && !/^\s*chunked\s*$/i.test(transfer))
    throw invalid('Send the file as it is. The only supported transfer coding is "chunked".')
  if (!/^\s*(identity)?\s*$/i.test(headers['content-encoding'] ?? ''))
    throw new NodekeepError('UNSUPPORTED_MEDIA_TYPE', 'Send the file as it is, without "content-encoding".')
}

/** Bytes of the body; `null` when the request does not say. */
function announcedSize({ headers }: FastifyRequest): number | null {
  if (headers['transfer-encoding'] !== undefined) return null
  return Number(headers['content-length'] ?? 0)
}

/** The Finder sends a file in chunks, and tells its size in a header of its own. */
function expectedSize({ headers }: FastifyRequest): number {
  const size = Number(headers['x-expected-entity-length'] ?? 0)
  return Number.isSafeInteger(size) ? size : 0
}

/** The time that ownCloud's clients, and rclone, set with a file, in seconds since 1970. */
function timeOf({ headers }: FastifyRequest): Date | null {
  const header = headers['x-oc-mtime']
  if (header === undefined) return null
  const time = timeOfSeconds(String(header))
  if (time !== null) return time
  throw invalid('"x-oc-mtime" must be a number of seconds since 1970, such as 1700000000.')
}

/** The first checksum of `oc-checksum`, such as `SHA1:da39…`, that the node can verify. */
function checksumOf({ headers }: FastifyRequest): Checksum | null {
  for (const text of String(headers['oc-checksum'] ?? '').split(/\s+/)) {
    const [, name = '', digest = ''] = /^([A-Za-z0-9]+):([0-9A-Fa-f]+)$/.exec(text) ?? []
    const algorithm = algorithms[name.toUpperCase()]
    if (algorithm !== undefined) return { algorithm, digest: digest.toLowerCase() }
  }
  return null
}

async function* verified(
  body: AsyncIterable<Uint8Array>,
  { algorithm, digest }: Checksum,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash: Hash = createHash(algorithm)
  for await (const chunk of body) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== digest)
    throw invalid('The file differs from its checksum ("oc-checksum"), so it was not stored. Send it again.')
}
