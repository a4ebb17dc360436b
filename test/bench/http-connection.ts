import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A request. */
export interface Question {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** The answer to a request. */
interface Answered {
  readonly status: number
  /** Milliseconds from the request to the first bytes of the answer. */
  readonly ms: number
}

/** A connection for requests with short answers, one after the other. It uses little CPU of its process. */
export class HttpConnection {
  readonly #url: URL
  readonly #socket: Socket

  private constructor(url: URL, socket: Socket) {
    this.#url = url
    this.#socket = socket
  }

  static async open(url: URL): Promise<HttpConnection> {
    const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true })
    await once(socket, 'connect')
    return new HttpConnection(url, socket)
  }

  async ask({ method = 'GET', path, headers = {}, body = '' }: Question): Promise<Answered> {
    const lines = [`${method} ${path} HTTP/1.1`, `host: ${this.#url.host}`]
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
    lines.push(`content-length: ${Buffer.byteLength(body)}`, '', body)
    const began = performance.now()
    this.#socket.write(lines.join('\r\n'))
    const [answer] = (await once(this.#socket, 'data')) as [Buffer]
    const ms = performance.now() - began
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer.toString('latin1', 0, 16))?.[1])
    return { status, ms }
  }

  close(): void {
    this.#socket.destroy()
  }
}
