import type { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { isNodekeepError } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'

export interface Sending {
  readonly status: 200 | 206
  readonly headers: Readonly<Record<string, string>>
  /** Bytes of the content. */
  readonly length: number
  /** Chunks whose memory may be reused once the next one is asked for. */
  readonly content: AsyncIterable<Uint8Array>
}

/** Content up to this size goes out in one piece with the head, in bytes. */
const onePiece = 8 * 1024

/**
 * Answers with content, past Fastify's streams: each chunk is handed to the system before the next one is asked for,
 * so no more is read than the client takes. When the client goes or the content fails, both end.
 */
export async function sendContent(reply: FastifyReply, sending: Sending): Promise<void> {
  const { raw: response, log } = reply
  const { status, headers, length, content } = sending
  const gone = response.socket ?? reply.request.raw.socket
  reply.hijack()
  response.writeHead(status, { ...(reply.getHeaders() as object), ...headers, 'content-length': length })
  try {
    let left = length
    for await (const chunk of content) {
      left -= chunk.length
      if (left < 0) throw new Error('The content is longer than its entry says.')
      await handOver(response, gone, chunk, left === 0)
    }
    if (left > 0) throw new Error('The content is shorter than its entry says.')
    if (!response.writableEnded) response.end()
  } catch (error) {
    if (gone.destroyed) log.debug('The client left before the answer ended.')
    else if (isNodekeepError(error) && error.logged) log.debug({ err: error }, 'The answer broke off.')
    else log.error({ err: error }, 'The answer broke off: what it is read from failed.')
    response.destroy()
  }
}

/** Resolves when the system has taken a chunk; rejects when the connection is gone. */
function handOver(
  response: ServerResponse,
  connection: EventEmitter & { readonly destroyed: boolean },
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
