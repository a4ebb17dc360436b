import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A port of the loopback interface that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/**
 * Requests an address every two milliseconds until it answers, with any status.
 *
 * @throws after `limitMs`
 */
export async function firstAnswer(url: URL, limitMs = 30_000): Promise<Response> {
  const limit = performance.now() + limitMs
  for (;;) {
    try {
      return await fetch(url)
    } catch (error) {
      if (performance.now() > limit)
        throw new Error(`${url} did not answer in ${limitMs} ms.`, { cause: error })
      await delay(2)
    }
  }
}
