import { SyncFailure } from '../sync-failure.ts'

/** Bytes of an answer in JSON. A page of a listing with the longest names has fewer. */
const mostJson = 16 * 1024 * 1024

/** Bytes of any other text that is read into memory, such as that of an error. */
const mostText = 64 * 1024

/** Milliseconds within which a whole answer must come, from its head on. */
const longestAnswerMs = 300_000

/** Reads the JSON of an answer. */
export async function readJson(answer: Response): Promise<unknown> {
  return JSON.parse(String(await readWithin(answer, mostJson)))
}

/** Reads a short text. */
export async function readText(answer: Response): Promise<string> {
  return String(await readWithin(answer, mostText))
}

/** A node may be hostile: its answers could be endless, in bytes or in time. */
async function readWithin({ body }: Response, mostBytes: number): Promise<Buffer> {
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
