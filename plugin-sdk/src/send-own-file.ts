import { once } from 'node:events'
import { fstat, type ReadStream, type Stats } from 'node:fs'
import { basename, dirname } from 'node:path'
import { promisify } from 'node:util'
import sendFile from '@fastify/send'
import { create as contentDisposition } from 'content-disposition'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { NodekeepError } from './errors.ts'

/** How a file is sent. */
export interface OwnFileOptions {
  /** The media type. Default: that of the extension, or `application/octet-stream`. */
  readonly type?: string
  /** Makes browsers save the file under this name. Without it they may show it. */
  readonly saveAs?: string
  /** Default: `private, no-cache`, so that a browser asks each time whether it has the newest version. */
  readonly cacheControl?: string
}

/** Attempts to send a file that is replaced between its stat and its opening. */
const attempts = 5

/**
 * Answers a GET or HEAD request with a file of the node or of the plugin, such as an archive or a page: with one range, `etag`,
 * `last-modified` and conditions (RFC 9110, sections 13 and 14), at the pace of the client. A file that is replaced meanwhile is
 * sent as it was when it was opened. Use it as the last step of a route: `return sendOwnFile(request, reply, file)`.
 *
 * It checks nothing about the path, so build the path yourself. It is not for files that users stored: a page of theirs could
 * act as the node.
 *
 * Rejects with NodekeepError NOT_FOUND if there is no such file, PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE, and
 * SERVICE_UNAVAILABLE if the file is replaced all the time. When the client leaves, the file is closed.
 */
export async function sendOwnFile(
  { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>,
  reply: FastifyReply,
  file: string,
  { type, saveAs, cacheControl = 'private, no-cache' }: OwnFileOptions = {},
): Promise<FastifyReply> {
  // Ranges are for GET only (RFC 9110, section 14.2). `cache-control` of a request is for caches: the `fetch` of Node sends
  // `no-cache` with every condition.
  const { range, 'cache-control': _forCaches, ...others } = headers
  const request = { method, headers: method === 'GET' ? { ...others, ...(range && { range }) } : others }
  for (let attempt = 0; attempt < attempts; attempt++) {
    const result = await sendFile(request as never, `/${encodeURIComponent(basename(file))}`, {
      root: dirname(file),
      dotfiles: 'allow',
      index: false,
      cacheControl: false,
    })
    if (result.type !== 'file') throw failure(result)
    const isOpened = 'bytesRead' in result.stream
    if (isOpened && !(await opens(result.stream as ReadStream, result.metadata.stat))) continue
    reply.code(result.statusCode).headers(result.headers)
    reply.headers({ 'cache-control': cacheControl, 'x-content-type-options': 'nosniff' })
    if (type !== undefined && result.statusCode !== 304) reply.header('content-type', type)
    if (saveAs !== undefined) reply.header('content-disposition', contentDisposition(saveAs))
    if (isOpened) return reply.send(whole(result.stream as ReadStream, reply))
    // Without a stream, Fastify would answer HEAD with a length of 0.
    return result.statusCode === 304 ? reply.send() : reply.send(result.stream)
  }
  throw new NodekeepError('SERVICE_UNAVAILABLE', 'The file keeps changing. Try again.', {
    headers: { 'retry-after': '1' },
  })
}

type SendResult = Awaited<ReturnType<typeof sendFile>>

function failure({ statusCode, headers }: SendResult): NodekeepError {
  if (statusCode === 412) {
    return new NodekeepError('PRECONDITION_FAILED', 'The file is not the version that the request names.')
  }
  if (statusCode === 416) {
    const range = headers['Content-Range'] ?? ''
    return new NodekeepError('RANGE_NOT_SATISFIABLE', 'The range is not within the file.', {
      headers: { 'content-range': range },
    })
  }
  if (statusCode === 500) return new NodekeepError('INTERNAL_ERROR', 'The file cannot be read.')
  return notFound()
}

function notFound(cause?: unknown): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'There is no such file.', { cause })
}

/** Opens the file. Resolves to false if it is not the one that the headers describe. */
async function opens(stream: ReadStream, described: Stats): Promise<boolean> {
  const [descriptor] = await once(stream, 'open').catch((error) => {
    throw error.code === 'ENOENT' ? notFound(error) : error
  })
  const { ino, size, mtimeMs } = await promisify(fstat)(descriptor)
  const isSame = ino === described.ino && size === described.size && mtimeMs === described.mtimeMs
  if (!isSame) stream.destroy()
  return isSame
}

/** If another program cuts the file short, the client must not take the part for the whole, or wait for the rest. */
function whole(stream: ReadStream, reply: FastifyReply): ReadStream {
  const expected = Number(reply.getHeader('content-length'))
  return stream.once('end', () => {
    if (stream.bytesRead >= expected) return
    reply.log.error('The answer broke off: the file was cut short while it was sent.')
    reply.raw.destroy()
  })
}
