/** Returns bytes without repetition, so that a piece that is missing, moved or of another file is noticed. */
export function pattern(length: number, seed = 1): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4))
  let state = Math.imul(seed, 0x9e3779b1) | 1
  for (let index = 0; index < words.length; index += 1) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    words[index] = state
  }
  return new Uint8Array(words.buffer, 0, length)
}

/** Yields the bytes in chunks of this size. */
export async function* stream(bytes: Uint8Array | string, chunkSize = 65_536): AsyncIterable<Uint8Array> {
  const all = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
  for (let start = 0; start < all.length; start += chunkSize) yield all.slice(start, start + chunkSize)
}

/** Reads to the end before it joins the chunks, so that a backend that reuses their memory unasked is noticed. */
export async function collect(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of content) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Returns a stream that yields one chunk and never ends. `silent` resolves when its reader waits for the second chunk. */
export function silentStream(first: Uint8Array): {
  readonly content: AsyncIterable<Uint8Array>
  readonly silent: Promise<void>
} {
  const { promise: silent, resolve } = Promise.withResolvers<void>()
  async function* content() {
    yield first
    resolve()
    await new Promise<never>(() => {})
  }
  return { content: content(), silent }
}
