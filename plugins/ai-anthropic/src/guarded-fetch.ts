import { errorText, readWithin } from '@nodekeep/plugin-sdk'
import { eventsWithin } from './events-within.ts'

/** Most bytes of an event, and of a page of models. */
const largestEvent = 4 * 1024 * 1024
const largestPage = 4 * 1024 * 1024

/**
 * A `fetch` for the SDK, which itself follows redirects with the key in its hands, describes this machine in its
 * headers, adds those of ANTHROPIC_CUSTOM_HEADERS, and holds answers of any length in memory.
 *
 * @param key sent as bearer token, as the API's version of 2026-10-21 has it
 */
export function guardedFetch(key: string): typeof fetch {
  return async (input, init = {}) => {
    const headers = sentHeaders(new Headers(init.headers), key)
    const response = await fetch(input, { ...init, headers, redirect: 'manual' })
    const { body, ok, status } = response
    if (body === null) return response
    const answer = { status, headers: response.headers }
    if (!ok) return new Response(await errorText(body), answer)
    if (init.method !== 'POST') return new Response(await readWithin(body, largestPage), answer)
    return new Response(ReadableStream.from(eventsWithin(body, largestEvent)), answer)
  }
}

function sentHeaders(headers: Headers, key: string): Headers {
  const sent = new Headers({ authorization: `Bearer ${key}`, 'user-agent': 'Nodekeep' })
  for (const name of ['accept', 'anthropic-version', 'content-type']) {
    const value = headers.get(name)
    if (value !== null) sent.set(name, value)
  }
  return sent
}
