import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'

/** Writes a text so that the client gets one byte at a time, and after the first 512 bytes five. */
export async function sendSlowly(response: ServerResponse, text: string): Promise<void> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length && !response.destroyed; ) {
    const end = at + (at < 512 ? 1 : 5)
    response.write(bytes.subarray(at, end))
    at = end
    // Bytes that are written in one turn arrive together.
    await setImmediate()
  }
}
