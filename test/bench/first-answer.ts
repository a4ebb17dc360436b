import { setTimeout as delay } from 'node:timers/promises'

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
