import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import type { ModelScene, ReceivedChat, ScriptedModelServer } from '@nodekeep/plugin-sdk/conformance/ai'
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions'
import { delta, event, received, replyEvents } from './openai-wire.ts'

/** Answers a request in a way that no scene has. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => unknown

/** A server on the loopback interface that speaks OpenAI's chat completions API. */
export interface OpenAIServer extends ScriptedModelServer {
  /** The `baseURL` for a client. */
  readonly url: string
  readonly models: readonly string[]
  /** The received requests, chats and others, with their bodies. */
  readonly requests: { readonly url: string; readonly headers: IncomingMessage['headers']; body?: unknown }[]
  /** Answers chats, or requests for models, if it is set. */
  answer: Answer | null
  answerModels: Answer | null
  stop(): Promise<void>
}

/** @param key the only accepted key; if it is empty, the server needs no key */
export async function startOpenAIServer(key = ''): Promise<OpenAIServer> {
  let scene: ModelScene = { kind: 'reply', text: ['Hello', '!'], finish: 'stop' }
  let last: ReceivedChat | null = null
  let chats = 0
  let open = 0

  const http = createServer(async (request, response) => {
    const { url = '', headers, method } = request
    const record: OpenAIServer['requests'][number] = { url, headers }
    server.requests.push(record)
    if (key !== '' && headers.authorization !== `Bearer ${key}`) {
      sendStatus(response, 401, headers.authorization)
    } else if (method === 'GET' && url === '/v1/models') {
      if (scene.kind === 'redirect') return play(response, scene)
      if (server.answerModels !== null) return server.answerModels(response, request)
      const data = server.models.map((id) => ({ id, object: 'model', created: 1762000000, owned_by: 'us' }))
      sendJson(response, 200, { object: 'list', data })
    } else if (method === 'POST' && url === '/v1/chat/completions') {
      open += 1
      response.once('close', () => {
        open -= 1
      })
      const played = scene
      // A client that disconnects while it sends has no chat.
      const body = (await json(request).catch(() => null)) as ChatCompletionCreateParams | null
      if (body === null) return
      record.body = body
      last = received(body)
      chats += 1
      if (server.answer !== null) server.answer(response, request)
      else await play(response, played, headers.authorization)
    } else sendJson(response, 404, { error: { message: `Invalid URL (${method} ${url})` } })
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')

  const server: OpenAIServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`,
    models: ['gpt-small', 'gpt-large:2026-01-01'],
    requests: [],
    answer: null,
    answerModels: null,
    play(next) {
      scene = next
    },
    received: () => last,
    chats: () => chats,
    openChats: () => open,
    async stop() {
      if (!http.listening) return
      http.close()
      http.closeAllConnections()
      await once(http, 'close')
    },
  }
  return server
}

/** Begins an answer of server-sent events. */
export function begin(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
}

async function play(response: ServerResponse, scene: ModelScene, authorization?: string): Promise<void> {
  if (scene.kind === 'silence') return
  if (scene.kind === 'status') {
    const { status, retryAfter } = scene
    if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter)
    return sendStatus(response, status, authorization)
  }
  if (scene.kind === 'redirect') return void response.writeHead(307, { location: scene.location }).end()
  begin(response)
  if (scene.kind === 'garbage') {
    response.end('data: <html>\n\ndata: {"choices":[{"delta":\n\n')
    return
  }
  if (scene.kind === 'reply') {
    for (const text of replyEvents(scene)) await write(response, text, scene.byteByByte)
    response.end()
    return
  }
  for (const content of scene.text) await write(response, delta({ content }))
  if (scene.kind === 'unfinished') response.end()
  // A cut would discard the bytes that are not sent yet.
  if (scene.kind === 'cut') response.write(': \n\n', () => response.destroy())
  if (scene.kind === 'failure') response.end(event({ error: { message: 'Boom', type: 'server_error' } }))
}

async function write(response: ServerResponse, text: string, byteByByte = false): Promise<void> {
  if (!byteByByte) {
    // We write bytes: after a text with characters of several bytes, Node 26.10 may never emit 'drain'.
    if (!response.write(Buffer.from(text))) await drained(response)
    return
  }
  const bytes = Buffer.from(text)
  for (let index = 0; index < bytes.length && !response.destroyed; index += 1) {
    response.write(bytes.subarray(index, index + 1))
    if (index % 16 === 0) await setImmediate()
  }
}

/** Waits until the client has read enough or the connection is closed. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) resolve()
    const events = ['drain', 'close'] as const
    const wake = () => {
      for (const event of events) response.off(event, wake)
      resolve()
    }
    for (const event of events) response.on(event, wake)
  })
}

function sendStatus(response: ServerResponse, status: number, authorization?: string): void {
  const messages: Readonly<Record<number, string>> = {
    401: `Incorrect API key provided: ${authorization?.replace('Bearer ', '')}.`,
    404: 'The model `gpt-9` does not exist or you do not have access to it.',
  }
  const message = messages[status] ?? `The server says ${status}.`
  sendJson(response, status, { error: { message, type: 'test', param: null, code: null } })
}

/** Sends the whole answer. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
