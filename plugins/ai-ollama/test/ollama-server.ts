import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { ModelScene, ReceivedChat, ScriptedModelServer } from '@nodekeep/plugin-sdk/conformance/ai'
import { type OllamaChat, readChat, replyLines, textLines } from './ollama-wire.ts'
import { sendSlowly } from './sending.ts'

export const models = ['llama3.2:latest', 'qwen3:0.6b', 'hf.co/someone/Some-Model-GGUF:Q4_K_M']

/** Answers a request in a way that no scene has. */
export type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** A server on the loopback interface that speaks Ollama's protocol. */
export interface OllamaServer extends ScriptedModelServer {
  readonly url: string
  /** The unchanged body of the last chat. */
  body(): OllamaChat
  /** The headers of the last request. */
  headers(): IncomingMessage['headers']
  /** Answers all further requests with `by`. `null` returns to the scene. */
  answer(by: Answer | null): void
  close(): Promise<void>
}

export async function startOllamaServer(): Promise<OllamaServer> {
  let scene: ModelScene = { kind: 'reply', text: ['Hello', '.'], finish: 'stop' }
  let answer: Answer | null = null
  let body: OllamaChat | undefined
  let received: ReceivedChat | null = null
  let headers: IncomingMessage['headers'] = {}
  let chats = 0
  const open = new Set<ServerResponse>()

  const http = createServer(async (request, response) => {
    headers = request.headers
    const called = `${request.method} ${request.url}`
    const playing = scene
    if (called === 'POST /api/chat') {
      open.add(response)
      response.once('close', () => open.delete(response))
      body = (await json(request)) as OllamaChat
      chats += 1
      received = readChat(body)
    }
    if (answer !== null) answer(response, request)
    else if (called === 'GET /api/tags' && playing.kind === 'redirect') await play(playing, response)
    else if (called === 'GET /api/tags') sendJson(response, 200, { models: models.map(entry) })
    else if (called !== 'POST /api/chat') response.writeHead(404).end('404 page not found')
    else if (body !== undefined && !models.includes(body.model)) {
      sendJson(response, 404, { error: `model '${body.model}' not found` })
    } else await play(playing, response)
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

async function play(scene: ModelScene, response: ServerResponse): Promise<void> {
  if (scene.kind === 'silence') return
  if (scene.kind === 'status') {
    const headers = scene.retryAfter === undefined ? {} : { 'retry-after': scene.retryAfter }
    const error = scene.status === 404 ? "model 'llama1' not found" : 'scripted'
    return sendJson(response, scene.status, { error }, headers)
  }
  if (scene.kind === 'redirect') return void response.writeHead(307, { location: scene.location }).end()
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  switch (scene.kind) {
    case 'reply': {
      const lines = replyLines(scene)
      if (scene.byteByByte) await sendSlowly(response, lines.join(''))
      else for (const text of lines) response.write(text)
      response.end()
      return
    }
    case 'garbage':
      response.end('{"model":"llama3.2:lat\n<html>502 Bad Gateway</html>\n\u0000\u0001')
      return
    default: {
      for (const text of textLines(scene.text)) response.write(text)
      if (scene.kind === 'cut') response.write('{', () => response.destroy())
      if (scene.kind === 'failure') {
        response.end('{"error":"an error was encountered while running the model"}\n')
      }
      if (scene.kind === 'unfinished') response.end()
    }
  }
}

function sendJson(response: ServerResponse, status: number, body: object, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(JSON.stringify(body))
}

function entry(name: string): object {
  return {
    name,
    model: name,
    modified_at: '2026-11-01T12:00:00Z',
    size: 2019393189,
    digest: 'a80c4f17acd55265feec403c7aef86be0c25983ab279d83f3bcd3abbcb5b8b72',
    details: { parent_model: '', format: 'gguf', family: 'llama', families: ['llama'] },
  }
}
