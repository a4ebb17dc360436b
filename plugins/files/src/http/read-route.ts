import {
  type FileReading,
  type FilesService,
  isNodekeepError,
  type KeptFilesService,
  NodekeepError,
  type RoutesApp,
  type StorageReadOptions,
  Type,
  userOf,
} from '@nodekeep/plugin-sdk'
import {
  type ByteRange,
  byteRange,
  contentHeaders,
  refuseAsCode,
  sendContent,
} from '@nodekeep/plugin-sdk/stored-content'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { versionError } from '../operations/path-errors.ts'
import type { AddedHeaders } from './added-headers.ts'
import { allowsRange, readConditions } from './conditional-requests.ts'
import { userFilesOf } from './request.ts'
import { fileBytes, pathQuery, versionQuery } from './schemas.ts'
import { versionHeaders } from './version-headers.ts'

/** A file, or a version of one, that a request reads. */
interface Readable {
  stat(): Promise<FileReading['entry']>
  read(options: StorageReadOptions): Promise<FileReading>
  /** The headers that other plugins add. */
  headersOf: (file: FileReading['entry']) => ReturnType<AddedHeaders>
}

/** Attempts to read a file that changes between its stat and its opening. */
const attempts = 5

export interface ReadRouteServices {
  readonly files: FilesService
  readonly kept: KeptFilesService
  readonly headersOf: AddedHeaders
}

/** Registers `GET` and `HEAD` of `/read` and of `/api/files/versions/read`. */
export function readRoutes(app: RoutesApp, { files, kept, headersOf }: ReadRouteServices): void {
  const config = { scope: 'files:read' }
  const content = { '*/*': { schema: fileBytes } }
  const answers = {
    headers: Type.Object({
      range: Type.Optional(Type.String({ description: 'One range of bytes, such as "bytes=0-99".' })),
    }),
    response: {
      200: { description: 'The file. Its name decides about the media type.', content },
      206: {
        description: 'A range of the file.',
        headers: { 'content-range': Type.String({ description: 'Such as "bytes 0-99/1234".' }) },
        content,
      },
    },
  }

  const fileOf = (request: FastifyRequest<{ Querystring: { path: string } }>): Readable => {
    const { path } = request.query
    const own = userFilesOf(files, request)
    return {
      stat: () => own.stat(path),
      read: (options) => own.read(path, options),
      headersOf: (file) => headersOf(request, file),
    }
  }
  app.head('/read', { config, schema: { querystring: pathQuery } }, (request, reply) =>
    head(fileOf(request), request, reply),
  )
  const ofFile = { operationId: 'readFile', summary: 'Read a file', querystring: pathQuery, ...answers }
  app.get('/read', { config, schema: ofFile, exposeHeadRoute: false }, (request, reply) =>
    get(fileOf(request), request, reply),
  )

  const versionOf = (request: FastifyRequest<{ Querystring: { path: string; id: string } }>): Readable => {
    const { path, id } = request.query
    const own = kept.for(userOf(request))
    return {
      stat: () => own.statVersion(path, id),
      read: (options) => own.readVersion(path, id, options),
      headersOf: () => null,
    }
  }
  app.head('/api/files/versions/read', { config, schema: { querystring: versionQuery } }, (request, reply) =>
    head(versionOf(request), request, reply),
  )
  const ofVersion = {
    operationId: 'readVersion',
    summary: 'Read a former content of a file',
    querystring: versionQuery,
    ...answers,
  }
  app.get(
    '/api/files/versions/read',
    { config, schema: ofVersion, exposeHeadRoute: false },
    (request, reply) => get(versionOf(request), request, reply),
  )
}

/** RFC 9110, section 14.2: ranges are for GET only. */
async function head(readable: Readable, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const file = await fileOf(readable)
  if (isNotModified(request, file)) return notModified(reply, file)
  const added = readable.headersOf(file)
  if (added !== null) reply.headers(await added)
  return reply.headers({ ...fileHeaders(file), 'content-length': file.size }).send()
}

async function get(readable: Readable, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
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

async function fileOf(readable: Readable): Promise<FileReading['entry']> {
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
