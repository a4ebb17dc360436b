import type { Static, TSchema } from 'typebox'
import { Check } from 'typebox/schema'
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

/** The kinds of failures by status. Of the others, 4xx is `refused` and 5xx `unavailable`. */
const kinds: Readonly<Record<number, SyncFailureKind>> = {
  401: 'stop',
  404: 'changed',
  408: 'unavailable',
  409: 'changed',
  412: 'changed',
  416: 'changed',
  429: 'unavailable',
}

const endedToken = 'The node does not accept the token any more. Log in again with "nodekeep-sync login".'

/** Characters of a message of the node that are kept for the person. */
const longestMessage = 500

/** A failure that the node has answered. */
export class NodeFailure extends SyncFailure {
  readonly status: number

  constructor(status: number, message: string) {
    super(kinds[status] ?? (status >= 500 ? 'unavailable' : 'refused'), message)
    this.status = status
  }
}

/** Sends requests to a node. */
export class NodeRequests {
  readonly #access: NodeAccess
  readonly #end = new AbortController()

  constructor(access: NodeAccess) {
    this.#access = access
  }

  /** Ends all requests. */
  stop(): void {
    this.#end.abort()
  }

  /**
   * @returns a successful answer; the caller reads its body
   * @throws NodeFailure for any other; SyncFailure `unavailable` if there is none
   */
  async open(
    path: string,
    { method = 'GET', query = {}, headers = {}, json, bytes }: NodeRequest = {},
  ): Promise<Response> {
    const url = new URL(path, this.#access.url)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const body = json === undefined ? bytes : JSON.stringify(json)
    const answer = await reach(url, () =>
      fetch(url, {
        method,
        // The token must not follow a node to another address.
        redirect: 'error',
        signal: this.#end.signal,
        headers: {
          authorization: `Bearer ${this.#access.token}`,
          'x-nodekeep-device': this.#access.deviceName,
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...(bytes !== undefined && { 'content-type': 'application/octet-stream' }),
          ...headers,
        },
        ...(body !== undefined && { body }),
      }),
    )
    if (answer.ok) return answer
    const text = await readText(answer).catch(() => '')
    if (answer.status === 401) throw new NodeFailure(401, endedToken)
    throw new NodeFailure(answer.status, messageOf(text) ?? `The node answered ${answer.status}.`)
  }

  /** Like `open`, for an answer whose body says no more than its head. Returns the head. */
  async send(path: string, request: NodeRequest = {}): Promise<Headers> {
    const answer = await this.open(path, request)
    // Without the end of its answer, the connection could not be used again.
    await reach(answer.url, () => readText(answer))
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
    request: NodeRequest = {},
  ): Promise<Static<Schema>> {
    const { body } = await this.askWithHead(path, schema, request)
    return body
  }

  /** Like `ask`, and returns the head of the answer too. */
  async askWithHead<Schema extends TSchema>(
    path: string,
    schema: Schema,
    request: NodeRequest = {},
  ): Promise<{ readonly head: Headers; readonly body: Static<Schema> }> {
    const answer = await this.open(path, request)
    const body = await reach(answer.url, () => readJson(answer))
    if (Check(schema, body)) return { head: answer.headers, body: body as Static<Schema> }
    throw new SyncFailure('unavailable', `The answer of the node to ${path} is not valid.`)
  }
}

/** Does something over the network. */
export async function reach<T>(url: URL | string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SyncFailure) throw error
    const { origin } = new URL(url)
    throw new SyncFailure('unavailable', `The node at ${origin} does not answer.`, { cause: error })
  }
}

function messageOf(text: string): string | null {
  try {
    const { message } = JSON.parse(text)
    return typeof message === 'string' ? message.slice(0, longestMessage) : null
  } catch {
    return null
  }
}
