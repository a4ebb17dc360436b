import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { isNodekeepError } from '../errors.ts'

/** An answer with stored content. */
export interface ContentAnswer {
  /** 207 is for answers about several files (RFC 4918, section 13). */
  readonly status: 200 | 206 | 207
  /** Such as those of `contentHeaders`, and `content-range` with 206. */
  readonly headers: Readonly<Record<string, string>>
  /** Bytes of the content, with 206 those of the range; `null` if that is not known before. */
  readonly length: number | null
  /** Chunks whose memory may be reused once the chunk after the next is requested. */
  readonly content: AsyncIterable<Uint8Array>
}

/** Content up to this size is sent in one piece with the head, in bytes. */
const smallContent = 8 * 1024

/** Bytes of small chunks that wait for the system together. */
const mostWaiting = 16 * 1024

/**
 * Sends stored content as the last step of a route, without Fastify's streams: the system takes one chunk while the next one is read, so the node reads no
 * more than the client takes. When the client leaves or the content fails, both end. It rejects for neither: the log has the failure. An
 * answer to HEAD has the same headers, and its content is not read.
 *
 * @example
 * const headers = contentHeaders('letter.txt')
 * const range = byteRange(request.headers.range, size)
 * if (range === 'unsatisfiable') throw new NodekeepError('RANGE_NOT_SATISFIABLE', 'The range is not within the file.')
 * if (range === null) await sendContent(reply, { status: 200, headers, length: size, content: read(0, size - 1) })
 * else {
 *   const { start, end } = range
 *   const part = { ...headers, 'content-range': `bytes ${start}-${end}/${size}` }
 *   await sendContent(reply, { status: 206, headers: part, length: end - start + 1, content: read(start, end) })
 * }
 * return reply
 */
export async function sendContent(reply: FastifyReply, answer: ContentAnswer): Promise<void> {
  const { status, headers, length, content } = answer
  const known = length === null ? {} : { 'content-length': length }
  await sendWith(reply, status, { ...headers, ...known }, async (response) => {
    if (reply.request.method === 'HEAD') await content[Symbol.asyncIterator]().return?.()
    else await sendChunks(response, length, content)
  })
}

/**
 * Sends an archive like a file. The next chunk is requested when the system has taken the one before: what makes the archive has one
 * ready. Rejects if there is no first chunk, so that this failure has an answer of its own.
 */
export async function sendArchive(reply: FastifyReply, content: AsyncIterable<Uint8Array>): Promise<void> {
  const chunks = content[Symbol.asyncIterator]()
  const first = await chunks.next()
  await sendWith(reply, 200, {}, async (response) => {
    try {
      for (let step = first; !step.done; step = await chunks.next()) {
        const isSmall = step.value.length + response.writableLength <= mostWaiting
        if (isSmall && !response.destroyed) response.write(Buffer.from(step.value))
        else await sendChunk(response, step.value, false)
      }
    } finally {
      await chunks.return?.()
    }
  })
}

async function sendWith(
  reply: FastifyReply,
  status: number,
  headers: OutgoingHttpHeaders,
  send: (response: ServerResponse) => Promise<void>,
): Promise<void> {
  const { raw: response, log } = reply
  reply.hijack()
  response.writeHead(status, { ...(reply.getHeaders() as object), ...headers })
  try {
    await send(response)
    if (!response.writableEnded) response.end()
  } catch (error) {
    if (response.destroyed || response.socket?.destroyed !== false)
      log.debug('The client left before the answer ended.')
    else if (isNodekeepError(error) && error.logged) log.debug({ err: error }, 'The answer broke off.')
    else log.error({ err: error }, 'The answer broke off: reading the content failed.')
    response.destroy()
  }
}

async function sendChunks(
  response: ServerResponse,
  length: number | null,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const chunks = content[Symbol.asyncIterator]()
  try {
    let missing = length ?? Number.POSITIVE_INFINITY
    let next = chunks.next()
    for (let step = await next; !step.done; step = await next) {
      missing -= step.value.length
      if (missing < 0) throw new Error('The content has more bytes than the length of its answer.')
      const sent = sendChunk(response, step.value, missing === 0)
      next = chunks.next()
      // A failure is thrown when this chunk is awaited.
      next.catch(() => {})
      await sent
    }
    if (length !== null && missing > 0)
      throw new Error('The content has fewer bytes than the length of its answer.')
  } finally {
    await chunks.return?.()
  }
}

/**
 * Resolves when the system has taken a chunk, or a copy of it was made. Rejects when the client has left, which neither `write`
 * nor `end` report in every case.
 */
async function sendChunk(response: ServerResponse, chunk: Uint8Array, isLast: boolean): Promise<void> {
  if (response.destroyed) throw new Error('The client left.')
  if (isLast && chunk.length <= smallContent) {
    response.end(asText(chunk), 'latin1')
    return
  }
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const leave = () => reject(new Error('The client left.'))
  const taken = (error?: Error | null) => {
    response.off('close', leave)
    if (error) reject(error)
    else resolve()
  }
  response.once('close', leave)
  if (isLast) response.end(chunk, taken)
  else response.write(chunk, taken)
  await promise
}

/** Bytes as text with one character per byte. Node sends text together with the head, and bytes after it. */
function asText({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}
