import type { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { isNodekeepError } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'

export interface Sending {
  readonly status: 200 | 206
  readonly headers: Readonly<Record<string, string>>
  /** Bytes of the content. */
  readonly length: number
  /** Chunks whose memory may be reused once the one after next is asked for. */
  readonly content: AsyncIterable<Uint8Array>
}

type Connection = EventEmitter & { readonly destroyed: boolean }

/** Content up to this size goes out in one piece with the head, in bytes. */
const onePiece = 8 * 1024

/**
 * Answers with content, past Fastify's streams: one chunk is handed to the system while the next one is read, so no
 * more is read than the client takes. When the client goes or the content fails, both end.
 */
export async function sendContent(reply: FastifyReply, sending: Sending): Promise<void> {
  const { raw: response, log } = reply
  const { status, headers, length, content } = sending
  const gone = response.socket ?? reply.request.raw.socket
  reply.hijack()
  response.writeHead(status, { ...(reply.getHeaders() as object), ...headers, 'content-length': length })
  try {
    await sendChunks(response, gone, length, content)
    if (!response.writableEnded) response.end()
  } catch (error) {
    if (gone.destroyed) log.debug('The client left before the answer ended.')
    else if (isNodekeepError(error) && error.logged) log.debug({ err: error }, 'The answer broke off.')
    else log.error({ err: error }, 'The answer broke off: what it is read from failed.')
    response.destroy()
  }
}

async function sendChunks(
  response: ServerResponse,
  connection: Connection,
  length: number,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const chunks = content[Symbol.asyncIterator]()
  try {
    let left = length
    let next = chunks.next()
    for (let step = await next; !step.done; step = await next) {
      left -= step.value.length
      if (left < 0) throw new Error('The content is longer than its entry says.')
      const sent = handOver(response, connection, step.value, left === 0)
      next = chunks.next()
      // Its failure counts when its turn comes.
      next.catch(() => {})
      await sent
    }
    if (left > 0) throw new Error('The content is shorter than its entry says.')
  } finally {
    await chunks.return?.()
  }
}

/** Resolves when the system has taken a chunk; rejects when the connection is gone. */
function handOver(
  response: ServerResponse,
  connection: Connection,
  chunk: Uint8Array,
  isLast: boolean,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const leave = () => reject(new Error('The client left.'))
  const taken = (error?: Error | null) => {
    connection.off('close', leave)
    if (error) reject(error)
    else resolve()
  }
  if (connection.destroyed) {
    leave()
    return promise
  }
  connection.once('close', leave)
  if (!isLast) response.write(chunk, taken)
  else if (chunk.length > onePiece) response.end(chunk, taken)
  else response.end(asText(chunk), 'latin1', taken)
  return promise
}

/** Bytes as text with a character for each, which Node appends to the head instead of sending it after the head. */
function asText({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}
