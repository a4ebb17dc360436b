import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'

/** Writes a text one byte at a time. */
export async function sendSlowly(response: ServerResponse, text: string): Promise<void> {
  for (const byte of Buffer.from(text)) {
    if (response.destroyed) return
    response.write(Uint8Array.of(byte))
    await setImmediate()
  }
}
