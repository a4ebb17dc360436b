import type { IncomingMessage } from 'node:http'
import { ModelHttpServer, type ModelWire } from '@nodekeep/plugin-sdk/conformance/ai'
import { errorBody, errorEvent, event, replyEvents, textEvents } from './anthropic-events.ts'
import { type MessagesRequest, readChat, refusal } from './anthropic-request.ts'

/** The only key that the server accepts. */
export const key = 'sk-ant-api03-Zq_8-Xw0Fh2LkP9vR4'

/** More models than a page holds, so that a list has two pages. */
export const models = ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5']
const pageSize = 2

const wire: ModelWire<MessagesRequest> = {
  chat: 'POST /v1/messages',
  list: 'GET /v1/models',
  contentType: 'text/event-stream; charset=utf-8',
  read: readChat,
  reply: replyEvents,
  begin: textEvents,
  empty: event('news', {}),
  openPiece: 'event: content_block_delta\ndata: {"index":0,"delta":{"type":"text_delta","text":"',
  failure: errorEvent('overloaded_error', 'Overloaded'),
  garbage: 'event: message_start\ndata: {"type": <html>502 Bad Gateway</html>\n\n\u0000\u0001',
  error(status, key) {
    const messages: Readonly<Record<number, string>> = { 404: 'model: claude-1' }
    return JSON.stringify(errorBody(status, messages[status] ?? `scripted for ${key}`))
  },
  models: (names, url) => JSON.stringify(page(names, new URL(url, 'http://localhost'))),
  refuse({ headers, body }) {
    const wrong = refusal(headers, key, body)
    return wrong === null
      ? null
      : { status: wrong.status, body: JSON.stringify(errorBody(wrong.status, wrong.message)) }
  },
}

/** A server on the loopback interface that speaks Anthropic's protocol, in the version 2026-10-21 of the API. */
export class AnthropicServer extends ModelHttpServer<MessagesRequest> {
  constructor() {
    super(wire, models)
  }

  /** Returns the unchanged body of the last chat. */
  body(): MessagesRequest {
    const body = this.requests.findLast((request) => request.body !== undefined)?.body
    if (body === undefined) throw new Error('No chat has arrived.')
    return body
  }

  /** Returns the headers of the last request. */
  headers(): IncomingMessage['headers'] {
    return this.requests.at(-1)?.headers ?? {}
  }
}

export async function startAnthropicServer(): Promise<AnthropicServer> {
  return new AnthropicServer().start()
}

function page(names: readonly string[], { searchParams }: URL): object {
  const after = searchParams.get('after_id')
  const start = after === null ? 0 : names.indexOf(after) + 1
  const ids = names.slice(start, start + pageSize)
  return {
    data: ids.map((id) => ({ type: 'model', id, display_name: id, created_at: '2026-10-01T00:00:00Z' })),
    has_more: start + pageSize < names.length,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  }
}
