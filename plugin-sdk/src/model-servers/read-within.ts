/**
 * Reads a body whole, as long as it is no longer than allowed. Giving up cancels the rest.
 *
 * @param maxBytes how much may be held in memory: a server can send without end
 * @param tooLong what to throw when the body is longer
 * @throws `tooLong`, or the error of the body
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
