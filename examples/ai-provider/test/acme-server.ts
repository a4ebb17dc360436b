import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import type { ModelScene, ReceivedChat, ScriptedModelServer } from '@nodekeep/plugin-sdk/conformance/ai'

const greeting: ModelScene = { kind: 'reply', text: ['Hello', '!'], finish: 'stop' }

/** An Acme server on this machine. It speaks the protocol of the README and plays the scenes of a test. */
export class AcmeServer implements ScriptedModelServer {
  readonly models = ['acme-1', 'acme-1-mini']
  readonly #http = createServer(async ({ url, method }, response) => {
    if (url === '/models' && this.#scene.kind === 'redirect') redirect(response, this.#scene)
    else if (url === '/models') response.end(`${JSON.stringify({ models: this.models })}\n`)
    else if (method === 'POST' && url === '/chat') await this.#chat(response)
    else response.writeHead(404).end()
  })
  #port = 0
  #scene = greeting
  #received: ReceivedChat | null = null
  #chats = 0
  #open = 0

  /** Resets the server and starts it, always at the same address. */
  async start(): Promise<void> {
    this.#scene = greeting
    this.#received = null
    this.#chats = 0
    if (this.#http.listening) return
    this.#http.listen(this.#port, '127.0.0.1')
    await once(this.#http, 'listening')
    this.#port = (this.#http.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    if (!this.#http.listening) return
    this.#http.close()
    this.#http.closeAllConnections()
    await once(this.#http, 'close')
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  play(scene: ModelScene): void {
    this.#scene = scene
  }

  received(): ReceivedChat | null {
    return this.#received
  }

  chats(): number {
    return this.#chats
  }

  openChats(): number {
    return this.#open
  }

  async #chat(response: ServerResponse): Promise<void> {
    const scene = this.#scene
    this.#open += 1
    response.once('close', () => {
      this.#open -= 1
    })
    this.#received = (await json(response.req)) as ReceivedChat
    this.#chats += 1
    if (scene.kind === 'silence') return
    if (scene.kind === 'status') {
      const { status, retryAfter } = scene
      response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end()
      return
    }
    if (scene.kind === 'redirect') {
      redirect(response, scene)
      return
    }
    for (const line of linesOf(scene)) await send(response, `${line}\n`, scene)
    if (scene.kind === 'stall') return
    if (scene.kind === 'cut') response.write('{', () => response.destroy())
    else response.end()
  }
}

function redirect(response: ServerResponse, { location }: Extract<ModelScene, { kind: 'redirect' }>): void {
  response.writeHead(307, { location }).end()
}

function* linesOf(scene: ModelScene): Generator<string> {
  if (scene.kind === 'garbage') yield '<html>'
  if (!('text' in scene)) return
  for (const thought of 'thoughts' in scene ? (scene.thoughts ?? []) : []) yield JSON.stringify({ thought })
  for (const text of scene.text) yield JSON.stringify({ text })
  if (scene.kind === 'failure') yield JSON.stringify({ error: 'The model gave up.' })
  if (scene.kind !== 'reply') return
  const { usage, finish } = scene
  if (usage) yield JSON.stringify({ tokens: { read: usage.inputTokens, written: usage.outputTokens } })
  yield JSON.stringify({ end: finish })
}

async function send(response: ServerResponse, line: string, scene: ModelScene): Promise<void> {
  const bytes = Buffer.from(line)
  const step = scene.kind === 'reply' && scene.byteByByte ? 1 : bytes.length
  for (let index = 0; index < bytes.length; index += step) {
    response.write(bytes.subarray(index, index + step))
    if (index % 16 === 0) await setImmediate()
  }
}
