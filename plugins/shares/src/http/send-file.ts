import { NodekeepError } from '@nodekeep/plugin-sdk'
import {
  byteRange,
  contentHeaders,
  namesTag,
  refuseAsCode,
  sendContent,
} from '@nodekeep/plugin-sdk/stored-content'
import { create as contentDisposition } from 'content-disposition'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GoingFile } from '../guests/shared-files.ts'

interface SentFile {
  readonly file: GoingFile
  /** Whether browsers save it in any case. */
  readonly isSaved: boolean
  /** Called with the bytes that the client took, at the end. */
  readonly onEnd: (bytes: number, isContinued: boolean) => void
}

/**
 * Sends a file of a link: with one range, a tag and conditions, and as sandboxed as every stored file.
 *
 * @throws NodekeepError RANGE_NOT_SATISFIABLE, FORBIDDEN
 */
export async function sendFile(
  { method, headers: asked }: FastifyRequest,
  reply: FastifyReply,
  { file, isSaved, onEnd }: SentFile,
): Promise<FastifyReply> {
  refuseAsCode({ headers: asked })
  const { name, size, modified, tag } = file
  const etag = `"${tag}"`
  const headers: Record<string, string> = {
    ...contentHeaders(name),
    ...(isSaved && { 'content-disposition': contentDisposition(name) }),
    'cache-control': 'private, no-cache',
    'last-modified': modified.toUTCString(),
    etag,
  }
  if (namesTag(asked['if-none-match'] ?? '', etag)) return reply.code(304).headers(headers).send()
  const ifRange = [asked['if-range']].flat()[0]
  const isWhole = method === 'HEAD' || (ifRange !== undefined && ifRange !== etag)
  const range = isWhole ? null : byteRange(asked.range, size)
  if (range === 'unsatisfiable') {
    throw new NodekeepError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes.`, {
      headers: { 'content-range': `bytes */${size}` },
    })
  }
  if (method === 'HEAD') return reply.headers({ ...headers, 'content-length': size }).send()
  const content = await opened(counted(file.read(range), (bytes) => onEnd(bytes, (range?.start ?? 0) > 0)))
  if (range === null) await sendContent(reply, { status: 200, headers, length: size, content })
  else {
    const { start, end } = range
    const part = { ...headers, 'content-range': `bytes ${start}-${end}/${size}` }
    await sendContent(reply, { status: 206, headers: part, length: end - start + 1, content })
  }
  return reply
}

/** Reads the first chunk before the answer begins: a failure then has an answer of its own. */
async function opened(
  content: AsyncGenerator<Uint8Array, void, undefined>,
): Promise<AsyncIterable<Uint8Array>> {
  const first = await content.next()
  return (async function* () {
    try {
      if (first.done) return
      yield first.value
      yield* content
    } finally {
      await content.return()
    }
  })()
}

async function* counted(
  content: AsyncIterable<Uint8Array>,
  onEnd: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0
  try {
    for await (const chunk of content) {
      bytes += chunk.length
      yield chunk
    }
  } finally {
    onEnd(bytes)
  }
}
