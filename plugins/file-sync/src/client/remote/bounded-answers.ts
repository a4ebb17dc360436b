import { SyncFailure } from '../sync-failure.ts'

/** Bytes of an answer in JSON. A page of a listing with the longest names has fewer. */
const mostJson = 16 * 1024 * 1024

/** Bytes of any other text that is read into memory, such as that of an error. */
const mostText = 64 * 1024

/** Milliseconds within which a whole answer must come, from its head on. */
const longestAnswerMs = 300_000

/** Reads the body of an answer as JSON. */
export async function readJson(body: AsyncIterable<Uint8Array> | null): Promise<unknown> {
  return JSON.parse(String(await readWithin(body, mostJson)))
}

/** Reads the body of an answer as a short text. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  return String(await readWithin(body, mostText))
}

/** A node may be hostile: its answers could be endless, in bytes or in time. */
async function readWithin(body: AsyncIterable<Uint8Array> | null, mostBytes: number): Promise<Buffer> {
  const end = performance.now() + longestAnswerMs
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > mostBytes) throw new SyncFailure('unavailable', 'An answer of the node is too long.')
    if (performance.now() > end) throw new SyncFailure('unavailable', 'An answer of the node is too slow.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
