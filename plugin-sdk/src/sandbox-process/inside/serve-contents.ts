import { writeSync } from 'node:fs'
import { inspect } from 'node:util'
import { type ContentMessage, type ContentOrder, longestCause, longestMessage } from './content-messages.ts'
import { Refusal } from './refusal.ts'
import { type Frame, FrameCollector, frameHead } from './sandbox-frames.ts'

/** The result of a decoder. */
export interface DecodedContent {
  /** A JSON value. */
  readonly answer: unknown
  /** Bytes that belong to the answer, such as a picture. Default: none. */
  readonly parts?: readonly Uint8Array[]
}

/**
 * Decodes a content.
 *
 * @param order the JSON value that the caller of `ContentSandbox.run` passed
 * @param content all bytes of the content
 * @throws Refusal when the content cannot be decoded. Anything else that is thrown means the same, without a message
 */
export type ContentDecoder = (order: unknown, content: Uint8Array) => Promise<DecodedContent> | DecodedContent

const output = 3
/** Growth of the process after which it collects its garbage, in bytes. */
const mostGarbage = 32 * 2 ** 20

/**
 * Decodes the contents that a `ContentSandbox` hands over, one at a time, until the process ends. Call it once, when everything
 * that the decoder needs is loaded.
 *
 * The process lives on between contents, so keep nothing of a content: the next one may be another user's.
 *
 * @example
 * serveContents((order, content) => {
 *   if (content.length === 0) throw new Refusal('The file is empty.')
 *   return { answer: { lines: content.filter((byte) => byte === 10).length } }
 * })
 */
export function serveContents(decode: ContentDecoder): void {
  // The node answers a signal for the whole group, such as Ctrl+C: it ends its sandboxes when it ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  // An ordinary exit would wait for busy threads.
  process.stdin.on('close', () => process.kill(process.pid, 'SIGKILL'))
  const frames = new FrameCollector()
  process.stdin.on('data', (chunk: Buffer) => {
    for (const frame of frames.push(chunk)) void answer(decode, frame)
  })
  send({ kind: 'ready' })
}

async function answer(decode: ContentDecoder, { header, body }: Frame): Promise<void> {
  send({ kind: 'began' })
  try {
    const { answer, parts = [] } = await decode((header as ContentOrder).order, body)
    send({ kind: 'answer', answer, parts: parts.map(({ length }) => length) }, parts)
  } catch (error) {
    const message = error instanceof Refusal ? error.message.slice(0, longestMessage) : null
    send({ kind: 'refused', message, cause: inspect(error).slice(0, longestCause) })
  }
  // In a later task, when nothing refers to the content any more.
  setImmediate(() => {
    collectGarbage()
    send({ kind: 'ready' })
  })
}

function send(message: ContentMessage, body: readonly Uint8Array[] = []): void {
  const bodyBytes = body.reduce((sum, { length }) => sum + length, 0)
  for (const part of [frameHead(message, bodyBytes), ...body]) {
    for (let sent = 0; sent < part.length; ) sent += writeSync(output, part, sent)
  }
}

/** Bytes in RAM after garbage was collected last. */
let leastBytes = process.memoryUsage.rss()

/** Returns the memory of past contents to the system, before it counts against the limit of the process. */
function collectGarbage(): void {
  if (process.memoryUsage.rss() - leastBytes < mostGarbage) return
  // V8's collector, which `--expose-gc` makes available.
  const { gc } = globalThis as { readonly gc?: NodeJS.GCFunction }
  gc?.()
  // Other threads free what was found. The next collection waits for them.
  gc?.({ type: 'minor' })
  leastBytes = process.memoryUsage.rss()
}
