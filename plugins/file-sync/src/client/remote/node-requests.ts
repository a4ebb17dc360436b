import { Agent, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import type { Static, TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { commandName } from '../command-name.ts'
import { SyncFailure, type SyncFailureKind } from '../sync-failure.ts'
import { readJson, readText } from './bounded-answers.ts'

/** A node, and who asks it. */
export interface NodeAccess {
  readonly url: URL
  /** A session token, or an API token with the scopes `files:read` and `files:write`. */
  readonly token: string
  /** Names the device in the journal of the node. */
  readonly deviceName: string
}

/** A request to the node. */
interface NodeRequest {
  readonly method?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** A value that is sent as JSON. */
  readonly json?: unknown
  readonly bytes?: Uint8Array<ArrayBuffer>
}

/** The kinds of failures by status. Of the others, 4xx is `refused`, and the rest `unavailable`. */
const kinds: Readonly<Record<number, SyncFailureKind>> = {
  401: 'stop',
  404: 'changed',
  408: 'unavailable',
  409: 'changed',
  412: 'changed',
  416: 'changed',
  429: 'unavailable',
  507: 'full',
}

const otherAddress =
  'The node leads to another address, where the token must not go. Give the final address with --node.'

/** Characters of a message of the node that are kept for the person. */
const longestMessage = 500

/** A failure that the node has answered. */
export class NodeFailure extends SyncFailure {
  readonly status: number

  constructor(status: number, message: string) {
    super(kinds[status] ?? (status >= 400 && status < 500 ? 'refused' : 'unavailable'), message)
    this.status = status
  }
}

/**
 * Sends requests to a node. They are those of `node:http`, not of `fetch`: MEMORY.md, "fetch".
 */
export class NodeRequests {
  readonly #access: NodeAccess
  readonly #agent: Agent
  readonly #longestSilenceMs: number
  #isStopped = false

  /**
   * @param longestSilenceMs milliseconds for which the node may be silent while a request waits for it
   * @param longestIdleMs milliseconds for which a connection is kept for the next request; a router, or a change of the network, may
   *   end an idle one without a word, and a request on it would wait for the longest silence
   * @throws SyncFailure `stop` if the token cannot be sent
   */
  constructor(access: NodeAccess, longestSilenceMs = 300_000, longestIdleMs = 4000) {
    checkToken(access.token)
    this.#access = access
    this.#longestSilenceMs = longestSilenceMs
    this.#agent = new (access.url.protocol === 'https:' ? TlsAgent : Agent)({
      keepAlive: true,
      timeout: longestIdleMs,
    })
  }

  /** Ends all requests. */
  stop(): void {
    this.#isStopped = true
    this.#agent.destroy()
  }

  /**
   * @returns a successful answer; the caller reads its body
   * @throws NodeFailure for an answer with an error; SyncFailure `unavailable` without an answer
   */
  async open(path: string, asked: NodeRequest = {}): Promise<IncomingMessage> {
    const answer = await this.#reach(() => answerTo(this.#send(path, asked)))
    const { statusCode: status = 0 } = answer
    if (status >= 200 && status < 300) return answer
    const text = await readText(this.bytesOf(answer)).catch(() => '')
    if (status === 401) {
      const again = `${commandName()} login --node ${this.#access.url.origin}`
      throw new NodeFailure(
        status,
        `The node does not accept the token any more. Log in again with "${again}".`,
      )
    }
    if (status >= 300 && status < 400) throw new NodeFailure(status, otherAddress)
    throw new NodeFailure(status, messageOf(text) ?? `The node answered ${status}.`)
  }

  /**
   * The body of an answer.
   *
   * @throws SyncFailure `unavailable` if the connection breaks
   */
  async *bytesOf(answer: IncomingMessage): AsyncIterable<Buffer> {
    const chunks: AsyncIterator<Buffer> = answer[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await this.#reach(() => chunks.next())
        if (done) return
        yield value
      }
    } finally {
      await chunks.return?.()
    }
  }

  /** Like `open`, for an answer whose body says no more than its head. Returns the head. */
  async send(path: string, asked: NodeRequest = {}): Promise<IncomingHttpHeaders> {
    const answer = await this.open(path, asked)
    // Without the end of its answer, the connection could not be used again.
    await readText(this.bytesOf(answer))
    return answer.headers
  }

  /**
   * Like `open`, and reads the JSON of the answer.
   *
   * @throws SyncFailure `unavailable` also if the answer is not as the schema says
   */
  async ask<Schema extends TSchema>(
    path: string,
    schema: Schema,
    asked: NodeRequest = {},
  ): Promise<Static<Schema>> {
    const { body } = await this.askWithHead(path, schema, asked)
    return body
  }

  /** Like `ask`, and returns the head of the answer too. */
  async askWithHead<Schema extends TSchema>(
    path: string,
    schema: Schema,
    asked: NodeRequest = {},
  ): Promise<{ readonly head: IncomingHttpHeaders; readonly body: Static<Schema> }> {
    const answer = await this.open(path, asked)
    const body = await readJson(this.bytesOf(answer))
    if (Check(schema, body)) return { head: answer.headers, body: body as Static<Schema> }
    throw new SyncFailure('unavailable', `The answer of the node to ${path} is not valid.`)
  }

  #send(path: string, { method = 'GET', query = {}, headers = {}, json, bytes }: NodeRequest): ClientRequest {
    if (this.#isStopped) throw new Error('The client stops.')
    const { url: node, token, deviceName } = this.#access
    const url = new URL(path, node)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const sent = (url.protocol === 'https:' ? requestTls : request)(url, {
      method,
      agent: this.#agent,
      timeout: this.#longestSilenceMs,
      headers: {
        authorization: `Bearer ${token}`,
        'x-nodekeep-device': deviceName,
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...(bytes !== undefined && { 'content-type': 'application/octet-stream' }),
        ...headers,
      },
    })
    sent.end(json === undefined ? bytes : JSON.stringify(json))
    return sent
  }

  /** Does something over the network. */
  async #reach<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const { origin } = this.#access.url
      throw new SyncFailure('unavailable', `The node at ${origin} does not answer.`, { cause: error })
    }
  }
}

/** @throws SyncFailure `stop` for a text that a request cannot carry as a token: https://www.rfc-editor.org/rfc/rfc6750#section-2.1 */
export function checkToken(token: string): void {
  if (/^[\x21-\x7e]+$/.test(token)) return
  throw new SyncFailure(
    'stop',
    'The token has a space, a line end or another character that no token has. Copy it again.',
  )
}

/** Waits for the head of the answer. The answer itself reports later failures of the connection. */
function answerTo(sent: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  sent.on('response', resolve)
  sent.on('error', reject)
  sent.on('timeout', () => sent.destroy(new Error('The node is silent.')))
  // Without a listener, Node drops the connection after such an answer, without an event.
  sent.on('upgrade', (_answer, socket) => {
    socket.destroy()
    reject(new Error('The node changes the protocol.'))
  })
  return promise
}

function messageOf(text: string): string | null {
  try {
    const { message } = JSON.parse(text)
    return typeof message === 'string' ? message.slice(0, longestMessage) : null
  } catch {
    return null
  }
}
