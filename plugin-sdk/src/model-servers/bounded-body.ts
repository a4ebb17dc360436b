/**
 * Reads a whole body into memory, up to a limit. Beyond the limit, the rest of the body is canceled.
 *
 * @param maxBytes the limit: a server can send without end
 * @param tooLong the error for a longer body
 * @throws `tooLong`, and any error of the body itself
 * @example const page = JSON.parse(String(await readWithin(response.body ?? [], 1024 * 1024)))
 */
export async function readWithin(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  tooLong = new Error(`The answer is longer than ${maxBytes} bytes.`),
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLong
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Limits of `errorText`. */
interface ErrorTextLimits {
  /** Bytes of the body that are read. Default: 64 KiB. */
  readonly maxBytes?: number
  /** Time for reading the body, in milliseconds. Default: 2000. */
  readonly maxMs?: number
}

/**
 * Reads the body of an error answer, for `ModelServer.error`. It never fails, because the status of the answer matters
 * more than its text: if the body is too long, never ends or breaks off, the result is the text up to that point. The
 * rest is canceled.
 *
 * @param body the body of a `fetch`, or `Readable.toWeb(answer)` of Node's own client
 */
export async function errorText(
  body: ReadableStream<Uint8Array> | null,
  { maxBytes = 64 * 1024, maxMs = 2000 }: ErrorTextLimits = {},
): Promise<string> {
  if (body === null) return ''
  const reader = body.getReader()
  // A loop over the body could not be left before the next chunk comes.
  const cancel = () => reader.cancel().catch(() => {})
  const timer = setTimeout(cancel, maxMs)
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    while (size < maxBytes) {
      const { done, value } = await reader.read()
      if (done) break
      chunks.push(value)
      size += value.byteLength
    }
  } catch {
    // The connection broke. The text so far is the result.
  }
  clearTimeout(timer)
  cancel()
  return Buffer.concat(chunks).toString('utf8', 0, maxBytes)
}
