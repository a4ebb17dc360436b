import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { ModelScene, ReceivedChat, ScriptedModelServer } from '@nodekeep/plugin-sdk/conformance/ai'
import { errorBody, errorEvent, replyEvents, textEvents } from './anthropic-events.ts'
import { type MessagesRequest, readChat, refusal } from './anthropic-request.ts'
import { sendSlowly } from './sending.ts'

/** The only key that the server accepts. */
export const key = 'sk-ant-api03-Zq_8-Xw0Fh2LkP9vR4'

/** More models than a page holds, so that a list has two pages. */
export const models = ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5']
const pageSize = 2

/** Answers a request in a way that no scene has. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** A server on the loopback interface that speaks Anthropic's protocol, in the version 2026-10-21 of the API. */
export interface AnthropicServer extends ScriptedModelServer {
  readonly url: string
  /** The unchanged body of the last chat. */
  body(): MessagesRequest
  /** The headers of the last request. */
  headers(): IncomingMessage['headers']
  /** Answers all further requests with `by`. `null` returns to the scene. */
  answer(by: Answer | null): void
  close(): Promise<void>
}

export async function startAnthropicServer(): Promise<AnthropicServer> {
  let scene: ModelScene = { kind: 'reply', text: ['Hello', '.'], finish: 'stop' }
  let answer: Answer | null = null
  let body: MessagesRequest | undefined
  let received: ReceivedChat | null = null
  let headers: IncomingMessage['headers'] = {}
  let chats = 0
  const open = new Set<ServerResponse>()

  const http = createServer(async (request, response) => {
    headers = request.headers
    const path = new URL(request.url ?? '/', 'http://localhost')
    if (path.pathname === '/v1/messages' && request.method === 'POST') {
      open.add(response)
      response.once('close', () => open.delete(response))
      const playing = scene
      body = (await json(request)) as MessagesRequest
      chats += 1
      received = readChat(body)
      if (answer !== null) return answer(response, request)
      const wrong = refusal(request.headers, key, body)
      if (wrong !== null) return sendError(response, wrong.status, wrong.message)
      return play(playing, response, request)
    }
    if (answer !== null) return answer(response, request)
    const wrong = refusal(request.headers, key)
    if (wrong !== null) return sendError(response, wrong.status, wrong.message)
    if (scene.kind === 'redirect') return play(scene, response, request)
    if (path.pathname !== '/v1/models') return sendError(response, 404, 'Not found')
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(page(path.searchParams.get('after_id'))))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    play(next) {
      scene = next
    },
    received: () => received,
    chats: () => chats,
    openChats: () => open.size,
    body() {
      if (body === undefined) throw new Error('No chat has arrived.')
      return body
    },
    headers: () => headers,
    answer(by) {
      answer = by
    },
    async close() {
      if (!http.listening) return
      http.close()
      http.closeAllConnections()
      await once(http, 'close')
    },
  }
}

async function play(
  scene: ModelScene,
  response: ServerResponse,
  { headers }: IncomingMessage,
): Promise<void> {
  if (scene.kind === 'silence') return
  if (scene.kind === 'status') {
    const messages: Readonly<Record<number, string>> = {
      401: `invalid bearer token ${headers.authorization}`,
      404: 'model: claude-1',
    }
    return sendError(response, scene.status, messages[scene.status] ?? 'scripted', scene.retryAfter)
  }
  if (scene.kind === 'redirect') return void response.writeHead(307, { location: scene.location }).end()
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  switch (scene.kind) {
    case 'reply': {
      const events = replyEvents(scene)
      if (scene.byteByByte) await sendSlowly(response, events.join(''))
      else for (const event of events) response.write(event)
      response.end()
      return
    }
    case 'garbage':
      response.end('event: message_start\ndata: {"type": <html>502 Bad Gateway</html>\n\n\u0000\u0001')
      return
    default: {
      for (const event of textEvents(scene.text)) response.write(event)
      if (scene.kind === 'cut') response.write(': \n', () => response.destroy())
      if (scene.kind === 'failure') response.end(errorEvent('overloaded_error', 'Overloaded'))
      if (scene.kind === 'unfinished') response.end()
    }
  }
}

function sendError(response: ServerResponse, status: number, message: string, retryAfter?: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'request-id': 'req_011CSHoEeqs5C35K2UUqR7Fy',
    ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
  })
  response.end(JSON.stringify(errorBody(status, message)))
}

function page(after: string | null): object {
  const start = after === null ? 0 : models.indexOf(after) + 1
  const ids = models.slice(start, start + pageSize)
  return {
    data: ids.map((id) => ({ type: 'model', id, display_name: id, created_at: '2026-10-01T00:00:00Z' })),
    has_more: start + pageSize < models.length,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  }
}
