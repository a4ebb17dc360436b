import { readWithin } from './bounded-body.ts'
import { wholeEvents } from './whole-events.ts'

const largestEvent = 2 * 1024 * 1024
const largestList = 8 * 1024 * 1024
const largestError = 64 * 1024

/**
 * A `fetch` for the SDK, which itself follows redirects with the key in its hands, describes this machine in its
 * headers, adds more of them from the environment, and reads answers and lines of any length.
 *
 * @param key sent as bearer token; not sent when empty
 */
export function guardedFetch(key: string): typeof fetch {
  return async (input, init = {}) => {
    const response = await fetch(input, { ...init, headers: headersOf(init, key), redirect: 'manual' })
    const { body, ok, status, headers } = response
    if (body === null) return response
    if (ok && init.method === 'POST') {
      // The SDK takes nothing else of an answer that it streams.
      return Object.defineProperty(response, 'body', { value: wholeEvents(body, largestEvent) })
    }
    if (ok) {
      // The SDK reads nothing as JSON that isn't said to be, which some servers forget.
      const type = { 'content-type': 'application/json' }
      return new Response(await readWithin(body, largestList), { status, headers: type })
    }
    const said = await readWithin(body, largestError).catch(() => '')
    return new Response(errorBody(String(said)), { status, headers })
  }
}

function headersOf({ body }: RequestInit, key: string): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': 'Nodekeep',
    ...(body ? { 'content-type': 'application/json' } : {}),
    ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
  }
}

/** The SDK reads what is below `error`. Some servers put it elsewhere, or write text; a page says nothing. */
function errorBody(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    const named = typeof value === 'object' && value !== null && 'error' in value
    return named ? text : JSON.stringify({ error: value })
  } catch {
    return JSON.stringify({ error: /^\s*</.test(text) ? '' : text })
  }
}
