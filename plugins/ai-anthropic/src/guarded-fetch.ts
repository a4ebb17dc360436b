import { errorText, limitEvents, readWithin } from '@nodekeep/plugin-sdk'

const maxEventBytes = 4 * 1024 * 1024
const maxPageBytes = 4 * 1024 * 1024

/** A ping of the API. The SDK drops events of this name, so `guardedFetch` gives them another one. */
export interface PingEvent {
  readonly type: 'ping'
}

/**
 * The `fetch` that the SDK gets. With the usual one, the SDK would follow redirects and send the key there, describe
 * this machine in its headers, add those of ANTHROPIC_CUSTOM_HEADERS, and hold answers of any length in memory.
 *
 * @param key sent as bearer token, as the API's version of 2026-10-21 requires
 */
export function guardedFetch(key: string): typeof fetch {
  return async (input, init = {}) => {
    const headers = sentHeaders(new Headers(init.headers), key)
    const response = await fetch(input, { ...init, headers, redirect: 'manual' })
    const { body, ok, status } = response
    if (body === null) return response
    const answer = { status, headers: response.headers }
    if (!ok) return new Response(await errorText(body), answer)
    if (init.method !== 'POST') return new Response(await readWithin(body, maxPageBytes), answer)
    return new Response(ReadableStream.from(withPings(body)), answer)
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

async function* withPings(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const events of limitEvents(body, maxEventBytes)) {
    const renamed = events.toString('latin1').replaceAll(/^event: ping(?=\r?$)/gm, 'event: sign_of_life')
    yield Buffer.from(renamed, 'latin1')
  }
}
