/**
 * Reads a body whole, as text. Leaving it cancels the rest.
 *
 * @throws Error when it is longer than allowed
 */
export async function readWithin(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > maxBytes) throw new Error(`The answer is longer than ${maxBytes} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
