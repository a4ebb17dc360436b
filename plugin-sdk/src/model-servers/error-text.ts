/** How much of an error's body is read. */
export interface ErrorTextLimits {
  /** Default: 64 KiB. */
  readonly maxBytes?: number
  /** How long the body may take, in milliseconds. Default: 2000. */
  readonly maxMs?: number
}

/**
 * Reads what a server says about an error, for `modelServerError`. The status, which has come already, is what counts: of
 * a body that is longer, never ends or breaks off, what has come until then is the text. The rest is canceled.
 *
 * @param body of a `fetch`, or `Readable.toWeb(answer)` of Node's own client
 * @example throw modelServerError('acme', { status: response.status, message: await errorText(response.body) })
 */
export async function errorText(
  body: ReadableStream<Uint8Array> | null,
  { maxBytes = 64 * 1024, maxMs = 2000 }: ErrorTextLimits = {},
): Promise<string> {
  if (body === null) return ''
  const reader = body.getReader()
  // Not by a loop over the body: that one waits for the next piece before it can be left.
  const cancel = () => reader.cancel().catch(() => {})
  const late = setTimeout(cancel, maxMs)
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
    // It broke off.
  }
  clearTimeout(late)
  cancel()
  return Buffer.concat(chunks).toString('utf8', 0, maxBytes)
}
