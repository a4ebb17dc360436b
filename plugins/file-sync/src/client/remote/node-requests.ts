import { SyncFailure, type SyncFailureKind } from '../sync-failure.ts'

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

  constructor(access: NodeAccess) {
    this.#access = access
  }

  /**
   * @returns a successful answer
   * @throws NodeFailure for any other; SyncFailure `unavailable` if there is none
   */
  async send(
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
    const text = await answer.text().catch(() => '')
    if (answer.status === 401) throw new NodeFailure(401, endedToken)
    throw new NodeFailure(answer.status, messageOf(text) ?? `The node answered ${answer.status}.`)
  }

  /** Like `send`, and reads the JSON of the answer. */
  async ask<T>(path: string, request: NodeRequest = {}): Promise<T> {
    const answer = await this.send(path, request)
    return reach(answer.url, () => answer.json() as Promise<T>)
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
    return typeof message === 'string' ? message : null
  } catch {
    return null
  }
}
