import type { IncomingMessage } from 'node:http'
import { ModelHttpServer, type ModelWire } from '@nodekeep/plugin-sdk/conformance/ai'
import { type OllamaChat, readChat, replyLines, textLines } from './ollama-wire.ts'

export const models = ['llama3.2:latest', 'qwen3:0.6b', 'hf.co/someone/Some-Model-GGUF:Q4_K_M']

const wire: ModelWire<OllamaChat> = {
  chat: 'POST /api/chat',
  list: 'GET /api/tags',
  contentType: 'application/x-ndjson',
  read: readChat,
  reply: replyLines,
  begin: textLines,
  empty: '{}\n',
  openPiece: '{"model":"llama3.2:latest","message":{"role":"assistant","content":"',
  failure: '{"error":"an error was encountered while running the model"}\n',
  garbage: '{"model":"llama3.2:lat\n<html>502 Bad Gateway</html>\n\u0000\u0001',
  error: (status) => JSON.stringify({ error: status === 404 ? "model 'llama1' not found" : 'scripted' }),
  models: (names) => JSON.stringify({ models: names.map(entry) }),
  refuse({ body }) {
    if (body === undefined || models.includes(body.model)) return null
    return { status: 404, body: JSON.stringify({ error: `model '${body.model}' not found` }) }
  },
}

/** A server on the loopback interface that speaks Ollama's protocol. */
export class OllamaServer extends ModelHttpServer<OllamaChat> {
  constructor() {
    super(wire, models)
  }

  /** Returns the unchanged body of the last chat. */
  body(): OllamaChat {
    const body = this.requests.findLast((request) => request.body !== undefined)?.body
    if (body === undefined) throw new Error('No chat has arrived.')
    return body
  }

  /** Returns the headers of the last request. */
  headers(): IncomingMessage['headers'] {
    return this.requests.at(-1)?.headers ?? {}
  }
}

export async function startOllamaServer(): Promise<OllamaServer> {
  return new OllamaServer().start()
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
