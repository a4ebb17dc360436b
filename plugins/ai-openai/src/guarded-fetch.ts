import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { errorText, readWithin } from '@nodekeep/plugin-sdk'
import { EventBody } from './event-body.ts'
import { callServer } from './server-call.ts'

const largestEvent = 2 * 1024 * 1024
const largestList = 8 * 1024 * 1024

const noHeaders = new Headers()

/**
 * What the SDK needs of a `fetch`. With the usual one it follows redirects with the key in its hands, describes this
 * machine in its headers, adds more of them from the environment, and reads answers and lines of any length.
 *
 * @param key sent as bearer token; not sent when empty
 */
export function guardedFetch(key: string): typeof fetch {
  return async (input, { method = 'GET', body, signal } = {}) => {
    const answer = await callServer(String(input), {
      method,
      headers: headersOf(body, key),
      ...(typeof body === 'string' && { body }),
      ...(signal && { signal }),
    })
    const { statusCode: status = 0, headers } = answer
    if (status < 200 || status >= 300) {
      const said = await errorText(Readable.toWeb(answer))
      const retryAfter = headers['retry-after']
      return new Response(status === 304 ? null : errorBody(said), {
        status,
        headers: { 'content-type': 'application/json', ...(retryAfter && { 'retry-after': retryAfter }) },
      })
    }
    if (method === 'POST') return streamed(status, answer)
    // The SDK reads nothing as JSON that isn't said to be, which some servers forget.
    const type = { 'content-type': 'application/json' }
    return new Response(await readWithin(answer, largestList), { status, headers: type })
  }
}

/** The SDK takes nothing else of an answer that it streams. */
function streamed(status: number, answer: IncomingMessage): Response {
  const body = new EventBody(answer, largestEvent)
  return { ok: true, status, headers: noHeaders, body } as unknown as Response
}

function headersOf(body: unknown, key: string): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': 'Nodekeep',
    ...(typeof body === 'string' && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }),
    ...(key !== '' && { authorization: `Bearer ${key}` }),
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
