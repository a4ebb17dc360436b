/**
 * The content of a request that makes an object visible when it has ended, such as one PUT of HTTP. Chunks are passed on, and the
 * last one is kept back until `beforeCommit` has resolved. For an empty content, the end is kept back.
 */
export async function* heldBack(
  content: AsyncIterable<Uint8Array>,
  beforeCommit: () => Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let last: Uint8Array | undefined
  for await (const chunk of content) {
    if (last !== undefined) yield last
    last = chunk
  }
  await beforeCommit()
  if (last !== undefined) yield last
}
