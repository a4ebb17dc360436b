import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { ModelHttpServer, type ModelWire } from '@nodekeep/plugin-sdk/conformance/ai'
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions'
import { delta, event, received, replyEvents } from './openai-wire.ts'

const models = ['gpt-small', 'gpt-large:2026-01-01']

/** A server on the loopback interface that speaks OpenAI's chat completions API. */
export class OpenAIServer extends ModelHttpServer<ChatCompletionCreateParams> {
  /** @param key the only accepted key; if it is empty, the server needs no key */
  constructor(key = '') {
    super(wireOf(key), models)
  }

  /** The `baseURL` for a client. */
  override get url(): string {
    return `${super.url}/v1`
  }
}

/** Starts a server. */
export async function startOpenAIServer(key = ''): Promise<OpenAIServer> {
  const server = new OpenAIServer(key)
  await server.start()
  return server
}

function wireOf(key: string): ModelWire<ChatCompletionCreateParams> {
  return {
    chat: 'POST /v1/chat/completions',
    list: 'GET /v1/models',
    contentType: 'text/event-stream; charset=utf-8',
    read: received,
    reply: replyEvents,
    begin: (text) => text.map((content) => delta({ content })),
    empty: 'data: {"choices":[]}\n\n',
    openPiece: 'data: {"choices":[{"delta":{"content":"',
    failure: event({ error: { message: 'Boom', type: 'server_error' } }),
    garbage: 'data: <html>\n\ndata: {"choices":[{"delta":\n\n',
    error: errorBody,
    models(names) {
      const data = names.map((id) => ({ id, object: 'model', created: 1762000000, owned_by: 'us' }))
      return JSON.stringify({ object: 'list', data })
    },
    refuse({ headers: { authorization = '' } }) {
      if (key === '' || authorization === `Bearer ${key}`) return null
      return { status: 401, body: errorBody(401, authorization) }
    },
  }
}

function errorBody(status: number, key: string): string {
  const messages: Readonly<Record<number, string>> = {
    401: `Incorrect API key provided: ${key}.`,
    404: 'The model `gpt-9` does not exist or you do not have access to it.',
  }
  const message = messages[status] ?? `The server says ${status} to ${key}.`
  return JSON.stringify({ error: { message, type: 'test', param: null, code: null } })
}

/** Begins an answer of server-sent events. */
export function begin(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
}

/** Sends the whole answer. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Waits until the client has read enough or the connection is closed. */
export async function drained(response: ServerResponse): Promise<void> {
  const done = new AbortController()
  const events = ['drain', 'close'].map((event) => once(response, event, done).catch(() => {}))
  await Promise.race(events)
  done.abort()
}
