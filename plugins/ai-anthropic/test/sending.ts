import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'

/** Writes a text so that the client gets it one byte at a time; after the first 512, five. */
export async function sendSlowly(response: ServerResponse, text: string): Promise<void> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length && !response.destroyed; ) {
    const end = at + (at < 512 ? 1 : 5)
    response.write(bytes.subarray(at, end))
    at = end
    // What is written at once comes at once.
    await setImmediate()
  }
}
