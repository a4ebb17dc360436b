import { readWithin } from '@nodekeep/plugin-sdk'
import { errorText } from '@nodekeep/plugin-sdk/model-servers'

const maxPageBytes = 4 * 1024 * 1024

/**
 * The `fetch` that the SDK gets. With the usual one, the SDK would follow redirects and send the key there, describe
 * this machine in its headers, add those of ANTHROPIC_CUSTOM_HEADERS, and hold lists and errors of any length in memory.
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
    return init.method === 'POST' ? response : new Response(await readWithin(body, maxPageBytes), answer)
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
