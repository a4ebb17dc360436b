import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import type { ModelScene, ReceivedChat, ReplyScene, ScriptedModelServer } from './subject.ts'

/** The protocol of a model server over HTTP: everything that `ModelHttpServer` cannot know. */
export interface ModelWire<Body = unknown> {
  /** Method and path of chats and of the list of models, such as `POST /v1/chat`. */
  readonly chat: string
  readonly list: string
  /** The content type of a reply. */
  readonly contentType: string
  /** Translates the body of a chat. */
  read(body: Body): ReceivedChat
  /** The events or lines of a whole reply, each as it is sent. */
  reply(scene: ReplyScene): Iterable<string>
  /** The events or lines of the beginning of a reply with these texts. */
  begin(text: readonly string[]): Iterable<string>
  /** An event or a line that adds nothing to the reply. */
  readonly empty: string
  /** The beginning of a piece of text in the middle of an event or a line. */
  readonly openPiece: string
  /** The event or the line of an error within a reply. */
  readonly failure: string
  /** The body of an answer that is not of this protocol. */
  readonly garbage: string
  /** The body of an error answer. As with real servers, it repeats the sent key, and tells that a model is missing. */
  error(status: number, key: string): string
  /** The body of the list of models, or of the page of it that the URL names. */
  models(names: readonly string[], url: string): string
  /** Returns the error answer to a request that the real server would refuse, otherwise `null`. */
  refuse?(request: ModelHttpRequest<Body>): { readonly status: number; readonly body: string } | null
}

/** A request that arrived. */
export interface ModelHttpRequest<Body = unknown> {
  readonly url: string
  readonly headers: IncomingMessage['headers']
  /** The body of a chat. */
  readonly body?: Body
}

/** Answers a request in a way that no scene has. */
export type ModelHttpAnswer = (response: ServerResponse, request: IncomingMessage) => unknown

/** Bytes of everything without end. Nothing follows them, so that a provider without bounds does not fill the memory. */
const endlessBytes = 64 * 1024 * 1024

const firstScene: ModelScene = { kind: 'reply', text: ['Hello', '.'], finish: 'stop' }

/** The HTTP half of a scripted model server on the loopback interface. An author adds the protocol. */
export class ModelHttpServer<Body = unknown> implements ScriptedModelServer {
  readonly models: readonly string[]
  /** All requests since the start. */
  readonly requests: ModelHttpRequest<Body>[] = []
  /** Answers all requests with a body that is read, if it is set. */
  answer: ModelHttpAnswer | null = null
  readonly #wire: ModelWire<Body>
  readonly #http = createServer((request, response) => this.#serve(request, response))
  readonly #open = new Set<ServerResponse>()
  #port = 0
  #scene: ModelScene = firstScene
  #received: ReceivedChat | null = null
  #chats = 0

  constructor(wire: ModelWire<Body>, models: readonly string[]) {
    this.#wire = wire
    this.models = models
  }

  /** Starts the server with the first scene, and without memory of earlier requests. The address is always the same. */
  async start(): Promise<this> {
    this.#scene = firstScene
    this.#received = null
    this.#chats = 0
    this.requests.length = 0
    this.answer = null
    if (this.#http.listening) return this
    this.#http.listen(this.#port, '127.0.0.1')
    await once(this.#http, 'listening')
    this.#port = (this.#http.address() as AddressInfo).port
    return this
  }

  /** Stops the server and cuts its connections. */
  async stop(): Promise<void> {
    if (!this.#http.listening) return
    this.#http.close()
    this.#http.closeAllConnections()
    await once(this.#http, 'close')
  }

  /** The address, without a slash at its end. */
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
    return this.#open.size
  }

  sent(text: string): boolean {
    return this.requests.some(({ url, headers }) => JSON.stringify([url, headers]).includes(text))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', headers, method } = request
    const scene = this.#scene
    const [path = ''] = url.split('?', 1)
    const called = `${method} ${path}`
    if (called === this.#wire.chat) {
      this.#open.add(response)
      response.once('close', () => this.#open.delete(response))
      // A client that disconnects while it sends has no chat.
      const body = (await json(request).catch(() => null)) as Body | null
      if (body === null) return
      this.requests.push({ url, headers, body })
      this.#received = this.#wire.read(body)
      this.#chats += 1
    } else this.requests.push({ url, headers })
    if (this.answer !== null) {
      this.answer(response, request)
      return
    }
    const refusal = this.#wire.refuse?.(this.requests.at(-1) ?? { url, headers }) ?? null
    if (refusal !== null) sendJson(response, refusal.status, refusal.body)
    else if (scene.kind === 'redirect') response.writeHead(307, { location: scene.location }).end()
    else if (called === this.#wire.chat) await this.#chat(scene, response, keyIn(headers))
    else if (called === this.#wire.list) await this.#list(scene, response, url)
    else this.#refuse(response, 404, keyIn(headers))
  }

  async #list(scene: ModelScene, response: ServerResponse, url: string): Promise<void> {
    const names = scene.kind === 'models' ? scene.names : this.models
    const body = this.#wire.models(names, url)
    if (scene.kind !== 'models' || scene.endless !== true) return sendJson(response, 200, body)
    response.writeHead(200, { 'content-type': 'application/json' })
    // The list goes on within its last name.
    const end = body.lastIndexOf(names.at(-1) ?? '')
    response.write(body.slice(0, end))
    await writeEndlessly(response, 'x')
  }

  #refuse(response: ServerResponse, status: number, key: string, retryAfter?: string): void {
    if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter)
    sendJson(response, status, this.#wire.error(status, key))
  }

  async #chat(scene: ModelScene, response: ServerResponse, key: string): Promise<void> {
    const wire = this.#wire
    if (scene.kind === 'silence') return
    if (scene.kind === 'status' && scene.endless === true) {
      response.writeHead(scene.status, { 'content-type': 'application/json' })
      return writeEndlessly(response, 'no ')
    }
    if (scene.kind === 'status') return this.#refuse(response, scene.status, key, scene.retryAfter)
    response.writeHead(200, { 'content-type': wire.contentType })
    switch (scene.kind) {
      case 'reply':
        for (const piece of wire.reply(scene)) await write(response, piece, scene)
        response.end()
        return
      case 'garbage':
        response.end(wire.garbage)
        return
      case 'models':
        for (const piece of wire.reply({ kind: 'reply', text: [], finish: 'stop' })) response.write(piece)
        response.end()
        return
    }
    if (!('text' in scene)) return
    for (const piece of wire.begin(scene.text)) await write(response, piece)
    if (scene.kind === 'unfinished') response.end()
    if (scene.kind === 'failure') {
      // A provider that takes the error for nothing sees the end of a reply.
      const end = [...wire.reply({ kind: 'reply', text: [], finish: 'stop' })]
      response.end([wire.failure, ...end].join(''))
    }
    // A cut would discard the bytes that are not sent yet.
    if (scene.kind === 'cut') response.write(wire.openPiece, () => response.destroy())
    if (scene.kind === 'flood') await writeEndlessly(response, scene.of === 'blank lines' ? '\n' : wire.empty)
    if (scene.kind === 'endless') {
      response.write(wire.openPiece)
      await writeEndlessly(response, 'x')
    }
  }
}

function sendJson(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}

/** Headers of every HTTP client. All others may contain a key. */
const usualHeaders =
  /^(accept|accept-(encoding|language)|connection|content-(length|type)|host|sec-fetch-mode|transfer-encoding|user-agent)$/

/** Returns what may be the key of a request: a bearer token, and the values of all headers of the provider's own. */
function keyIn({ authorization = '', ...headers }: IncomingMessage['headers']): string {
  const own = Object.entries(headers).flatMap(([name, value]) => (usualHeaders.test(name) ? [] : [value]))
  return [authorization.replace(/^Bearer /, ''), ...own].filter((value) => value).join(' ')
}

/** Writes a piece of a reply, and waits while the client does not read. */
async function write(
  response: ServerResponse,
  text: string,
  { byteByByte = false, invalidBytes = false }: Partial<ReplyScene> = {},
): Promise<void> {
  // We write bytes: after a text with characters of several bytes, Node 26.10 may never emit 'drain'.
  const bytes = invalidBytes ? withInvalidBytes(text) : Buffer.from(text)
  if (!byteByByte) {
    if (!response.write(bytes)) await drained(response)
    return
  }
  for (let index = 0; index < bytes.length && !response.destroyed; index += 1) {
    response.write(bytes.subarray(index, index + 1))
    // Bytes that are written in one turn arrive together.
    if (index % 16 === 0) await setImmediate()
  }
}

function withInvalidBytes(text: string): Buffer {
  const parts = text.split('\ufffd').flatMap((part) => [Buffer.from([0xff]), Buffer.from(part)])
  return Buffer.concat(parts.slice(1))
}

/** Writes the same text as fast as the client takes it. Then the connection stays open. */
async function writeEndlessly(response: ServerResponse, text: string): Promise<void> {
  const bytes = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)))
  for (let sent = 0; sent < endlessBytes && !response.destroyed; sent += bytes.length) {
    if (!response.write(bytes)) await drained(response)
  }
}

/** Waits until the client has read enough or the connection is closed. */
async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const events = ['drain', 'close'] as const
  for (const event of events) response.on(event, resolve)
  await promise
  for (const event of events) response.off(event, resolve)
}
