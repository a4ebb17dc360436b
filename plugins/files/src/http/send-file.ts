import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type FileEntry, type FileReading, isNodekeepError } from '@nodekeep/plugin-sdk'
import { create as contentDisposition } from 'content-disposition'
import type { FastifyReply } from 'fastify'
import { lookup } from 'mime-types'

/**
 * Contains a stored page that opens in a browser: no scripts, no frames, no forms, no loaded resources, and an origin
 * other than the node's. Styles are allowed, because browsers need them to show an image or a text.
 */
const sandbox = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

/** Types that browsers show without running anything in them. All others are saved rather than opened. */
const shownInline = /^(image\/(?!svg)|audio\/|video\/|text\/plain$)/

/** The strong entity tag of a file: its revision in quotes. */
export function entityTag({ revision }: Pick<FileEntry, 'revision'>): string {
  return `"${revision}"`
}

/** The headers that identify the version of a file. */
export function versionHeaders(file: FileReading['entry']): Record<string, string> {
  return {
    etag: entityTag(file),
    'last-modified': file.modified.toUTCString(),
    'cache-control': 'private, no-cache',
  }
}

/** The headers of an answer with the content of a file, except for its length. */
export function fileHeaders(file: FileReading['entry']): Record<string, string> {
  const type = lookup(file.path) || 'application/octet-stream'
  return {
    ...versionHeaders(file),
    'accept-ranges': 'bytes',
    'content-type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    'content-disposition': contentDisposition(file.name, {
      type: shownInline.test(type) ? 'inline' : 'attachment',
    }),
    'content-security-policy': sandbox,
    // Pages of other origins, including other ports of this machine, cannot embed the file as an image or a script.
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  }
}

interface FileAnswer {
  readonly status: 200 | 206
  readonly headers: Readonly<Record<string, string>>
  /** Bytes of the content. */
  readonly length: number
  /** Chunks whose memory may be reused once the chunk after the next is requested. */
  readonly content: AsyncIterable<Uint8Array>
}

/** Content up to this size is sent in one piece with the head, in bytes. */
const smallContent = 8 * 1024

/** Bytes of small chunks that wait for the system together. */
const mostWaiting = 16 * 1024

/**
 * Sends content without Fastify's streams: the system takes one chunk while the next one is read, so the node reads no
 * more than the client takes. When the client leaves or the content fails, both end.
 */
export async function sendFile(reply: FastifyReply, answer: FileAnswer): Promise<void> {
  const { status, headers, length, content } = answer
  await sendWith(reply, status, { ...headers, 'content-length': length }, (response) =>
    sendChunks(response, length, content),
  )
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
    else log.error({ err: error }, 'The answer broke off: reading the file failed.')
    response.destroy()
  }
}

async function sendChunks(
  response: ServerResponse,
  length: number,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const chunks = content[Symbol.asyncIterator]()
  try {
    let missing = length
    let next = chunks.next()
    for (let step = await next; !step.done; step = await next) {
      missing -= step.value.length
      if (missing < 0) throw new Error('The content is longer than its entry says.')
      const sent = sendChunk(response, step.value, missing === 0)
      next = chunks.next()
      // A failure is thrown when this chunk is awaited.
      next.catch(() => {})
      await sent
    }
    if (missing > 0) throw new Error('The content is shorter than its entry says.')
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
