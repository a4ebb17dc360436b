import { readWithin } from '@nodekeep/plugin-sdk'
import { errorText, limitEvents } from '@nodekeep/plugin-sdk/model-servers'

const maxEventBytes = 2 * 1024 * 1024
const maxListBytes = 8 * 1024 * 1024
/** How long a server may take to end its answer after the last event, in milliseconds. */
const maxEndMs = 1000
/** Most bytes that are read after the last event. */
const maxEndBytes = 64 * 1024

/**
 * The `fetch` that the SDK gets. With the usual one, the SDK would follow redirects and send the key there, describe
 * this machine in its headers, add headers from the environment, and hold events and answers of any length in memory.
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
    if (method === 'POST') return streamed(answer)
    // The SDK parses an answer only if its type is JSON. Some servers do not name the type.
    const type = { 'content-type': 'application/json' }
    return new Response(await readWithin(answer.body ?? [], maxListBytes), { status, headers: type })
  }
}

/** Returns the part of a `Response` that the SDK reads. A real one would cost a tenth more CPU for each chat. */
function streamed({ ok, status, headers, body }: Response): Response {
  return { ok, status, headers, body: events(body) } as unknown as Response
}

/**
 * The events of a streamed answer. The SDK stops at the last event, before the end of the answer. The rest is read here,
 * so that the connection can be used again.
 */
function events(body: ReadableStream<Uint8Array> | null): AsyncIterable<Uint8Array> {
  const reader = (body ?? new Blob().stream()).getReader()
  const chunks: AsyncIterator<Uint8Array> = {
    next: () => reader.read() as Promise<IteratorResult<Uint8Array>>,
    async return() {
      readToEnd(reader)
      return { done: true, value: undefined }
    },
  }
  return limitEvents({ [Symbol.asyncIterator]: () => chunks }, maxEventBytes)
}

async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const cancel = () => reader.cancel().catch(() => {})
  const timer = setTimeout(cancel, maxEndMs).unref()
  try {
    for (let left = maxEndBytes; ; ) {
      const { done, value } = await reader.read()
      if (done) break
      left -= value.length
      if (left < 0) await cancel()
    }
  } catch {
    // The connection broke, or the call was aborted. Nobody needs the rest.
  }
  clearTimeout(timer)
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
