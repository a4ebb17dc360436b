import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FileReading } from '../contracts/files.ts'
import type { StorageReadOptions } from '../contracts/storage.ts'
import { isNodekeepError, NodekeepError } from '../errors.ts'
import { type ByteRange, byteRange } from './byte-range.ts'
import { allowsRange, readConditions, versionError } from './conditional-requests.ts'
import { contentHeaders, refuseAsCode } from './content-headers.ts'
import { sendContent } from './send-content.ts'
import { versionHeaders } from './version-headers.ts'

/** A file of a user, or a version of one, that a request reads. */
export interface ReadableFile {
  stat(): Promise<FileReading['entry']>
  read(options: StorageReadOptions): Promise<FileReading>
  /** Further headers of the answer; null at once for none. */
  headersOf(file: FileReading['entry']): Promise<Readonly<Record<string, string>>> | null
}

/** Attempts to read a file that changes between its stat and its opening. */
const attempts = 5

/**
 * Answers a GET or HEAD request with a file of a user: its bytes or a range of them, under the conditions of the request (RFC 9110, sections 13
 * and 14), with the protection of the node from what is in it.
 *
 * @throws NodekeepError those of `stat` and `read`, VALIDATION_ERROR for a folder, PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE,
 *   FORBIDDEN for a request of a page that would run the file, SERVICE_UNAVAILABLE if the file keeps changing
 */
export async function sendFile(
  reply: FastifyReply,
  request: FastifyRequest,
  readable: ReadableFile,
): Promise<FastifyReply> {
  return request.method === 'HEAD' ? head(readable, request, reply) : get(readable, request, reply)
}

/** RFC 9110, section 14.2: ranges are for GET only. */
async function head(
  readable: ReadableFile,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const file = await fileOf(readable)
  if (isNotModified(request, file)) return notModified(reply, file)
  const added = readable.headersOf(file)
  if (added !== null) reply.headers(await added)
  return reply.headers({ ...fileHeaders(file), 'content-length': file.size }).send()
}

async function get(
  readable: ReadableFile,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  refuseAsCode(request)
  if (!isConditional(request)) return answer(await readable.read({ reuseBuffers: true }), null)
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const file = await fileOf(readable)
    if (isNotModified(request, file)) return notModified(reply, file)
    const range = rangeOf(request, file)
    const reading = await readable.read({ reuseBuffers: true, ...range }).catch(nullIfShrunk)
    if (reading?.entry.revision === file.revision) return answer(reading, range)
    for await (const _chunk of reading?.content ?? []) break
  }
  throw new NodekeepError('SERVICE_UNAVAILABLE', 'The file keeps changing. Try again.', {
    headers: { 'retry-after': '1' },
  })

  async function answer(reading: FileReading, range: ByteRange | null): Promise<FastifyReply> {
    const added = readable.headersOf(reading.entry)
    if (added !== null) reply.headers(await added)
    return send(reply, reading, range)
  }
}

/** The range was within the file when it was made, so the file has another version now. */
function nullIfShrunk(error: unknown): null {
  if (isNodekeepError(error) && error.code === 'RANGE_NOT_SATISFIABLE') return null
  throw error
}

async function send(
  reply: FastifyReply,
  { entry, content }: FileReading,
  range: ByteRange | null,
): Promise<FastifyReply> {
  const headers = fileHeaders(entry)
  if (range === null) {
    await sendContent(reply, { status: 200, headers, length: entry.size, content })
    return reply
  }
  const { start, end } = range
  headers['content-range'] = `bytes ${start}-${end}/${entry.size}`
  await sendContent(reply, { status: 206, headers, length: end - start + 1, content })
  return reply
}

/** The headers of an answer with the content of a file, except for its length. */
function fileHeaders(file: FileReading['entry']): Record<string, string> {
  return { ...versionHeaders(file), ...contentHeaders(file.name) }
}

async function fileOf(readable: ReadableFile): Promise<FileReading['entry']> {
  const entry = await readable.stat()
  if (entry.type === 'file') return entry
  throw new NodekeepError('VALIDATION_ERROR', `"${entry.path}" is a folder.`)
}

/** Whether the answer depends on which version the file is in, or how large it is. */
function isConditional({ headers }: FastifyRequest): boolean {
  return (
    headers.range !== undefined ||
    headers['if-none-match'] !== undefined ||
    headers['if-modified-since'] !== undefined ||
    headers['if-match'] !== undefined ||
    headers['if-unmodified-since'] !== undefined
  )
}

/** @throws NodekeepError PRECONDITION_FAILED */
function isNotModified({ headers }: FastifyRequest, file: FileReading['entry']): boolean {
  const result = readConditions(headers, file)
  if (result === 'failed') throw versionError()
  return result === 'not-modified'
}

function notModified(reply: FastifyReply, file: FileReading['entry']): FastifyReply {
  return reply.code(304).headers(versionHeaders(file)).send()
}

/** @throws NodekeepError RANGE_NOT_SATISFIABLE */
function rangeOf({ headers }: FastifyRequest, file: FileReading['entry']): ByteRange | null {
  if (!allowsRange([headers['if-range']].flat()[0], file)) return null
  const range = byteRange(headers.range, file.size)
  if (range !== 'unsatisfiable') return range
  throw new NodekeepError(
    'RANGE_NOT_SATISFIABLE',
    `The range is not within the file, which has ${file.size} bytes.`,
    {
      headers: { 'content-range': `bytes */${file.size}` },
    },
  )
}
