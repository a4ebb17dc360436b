import type { ModelServer } from '@nodekeep/plugin-sdk/model-servers'

/**
 * The `fetch` that the SDK gets. With the usual one, the SDK would follow redirects and send the key there, describe
 * this machine in its headers, add headers from the environment, and hold lists and errors of any length in memory.
 */
export function sdkFetch(server: ModelServer): typeof fetch {
  return async (input, { method = 'GET', body = null, signal = null } = {}) => {
    const headers = {
      accept: 'application/json',
      ...(body !== null && { 'content-type': 'application/json' }),
    }
    const answer = await server.fetch(input, { method, body, signal, headers })
    const { ok, status } = answer
    if (ok && method === 'POST') return answer
    const text = await answer.text()
    const retryAfter = answer.headers.get('retry-after')
    return new Response(status === 304 ? null : ok ? text : errorBody(text), {
      status,
      headers: {
        // The SDK parses an answer only if its type is JSON. Some servers do not name the type.
        'content-type': 'application/json',
        ...(retryAfter !== null && { 'retry-after': retryAfter }),
      },
    })
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
