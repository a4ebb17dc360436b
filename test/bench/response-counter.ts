const headEnd = Buffer.from('\r\n\r\n')

/** Finds the ends of HTTP/1.1 responses in the bytes of one connection. */
export class ResponseCounter {
  readonly #onResponse: () => void
  /** Bytes of the present response's body that are still to come. */
  #missing = 0
  /** A head of which the end has not come yet. */
  #head: Buffer = Buffer.alloc(0)

  constructor(onResponse: () => void) {
    this.#onResponse = onResponse
  }

  /** Takes the next bytes. Throws when a response is not 2xx, or has a body without content-length. */
  take(chunk: Buffer): void {
    let rest = this.#head.length > 0 ? Buffer.concat([this.#head, chunk]) : chunk
    this.#head = Buffer.alloc(0)
    while (rest.length > 0) {
      if (this.#missing === 0) {
        const end = rest.indexOf(headEnd)
        if (end === -1) {
          this.#head = rest
          return
        }
        this.#missing = end + headEnd.length + contentLength(rest.toString('latin1', 0, end + 2))
      }
      const taken = Math.min(this.#missing, rest.length)
      this.#missing -= taken
      rest = rest.subarray(taken)
      if (this.#missing === 0) this.#onResponse()
    }
  }
}

function contentLength(head: string): number {
  if (!head.startsWith('HTTP/1.1 2'))
    throw new Error(`The server answered ${head.slice(0, head.indexOf('\r'))}.`)
  // An answer 204 has no body (RFC 9110, section 15.3.5).
  if (head.startsWith('HTTP/1.1 204')) return 0
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1]
  if (length === undefined) throw new Error('The server answered without content-length.')
  return Number(length)
}
