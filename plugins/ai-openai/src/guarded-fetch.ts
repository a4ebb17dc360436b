import { readWithin } from '@nodekeep/plugin-sdk'
import { errorText } from '@nodekeep/plugin-sdk/model-servers'

const maxListBytes = 8 * 1024 * 1024

/**
 * The `fetch` that the SDK gets. With the usual one, the SDK would follow redirects and send the key there, describe
 * this machine in its headers, add headers from the environment, and hold lists and errors of any length in memory.
 *
 * @param key sent as bearer token, unless it is empty
 */
export function guardedFetch(key: string): typeof fetch {
  return async (input, { method = 'GET', body = null, signal = null } = {}) => {
    const headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'Nodekeep',
      ...(body !== null && { 'content-type': 'application/json' }),
      ...(key !== '' && { authorization: `Bearer ${key}` }),
    }
    const answer = await fetch(input, { method, body, signal, headers, redirect: 'manual' })
    const { ok, status } = answer
    if (!ok) {
      const retryAfter = answer.headers.get('retry-after')
      return new Response(status === 304 ? null : errorBody(await errorText(answer.body)), {
        status,
        headers: {
          'content-type': 'application/json',
          ...(retryAfter !== null && { 'retry-after': retryAfter }),
        },
      })
    }
    if (method === 'POST') return answer
    // The SDK parses an answer only if its type is JSON. Some servers do not name the type.
    const type = { 'content-type': 'application/json' }
    return new Response(await readWithin(answer.body ?? [], maxListBytes), { status, headers: type })
  }
}

/** The SDK reads the object below `error`. Some servers write it elsewhere, or write text; a page has no reason. */
function errorBody(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    const named = typeof value === 'object' && value !== null && 'error' in value
    return named ? text : JSON.stringify({ error: value })
  } catch {
    return JSON.stringify({ error: /^\s*</.test(text) ? '' : text })
  }
}
