const lineFeed = 10
const carriageReturn = 13

/**
 * Cuts a stream of server-sent events into pieces that end with an event. The SDK gathers an event piece by piece, and
 * begins anew with each: it takes an event of any length, and one of many small pieces takes it very long.
 */
export class WholeEvents {
  readonly #maxBytes: number
  #begun: Uint8Array[] = []
  #size = 0
  #line = 0

  /** @param maxBytes the longest event */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * Takes what has come.
   *
   * @returns the events that it completes, `null` when there is none
   * @throws Error when an event is longer than allowed
   */
  take(chunk: Uint8Array): Uint8Array | null {
    const end = this.#endIn(chunk)
    const whole = end === 0 ? null : this.#joined(chunk.subarray(0, end))
    if (end < chunk.length) {
      this.#begun.push(chunk.subarray(end))
      this.#size += chunk.length - end
      if (this.#size > this.#maxBytes) {
        throw new Error(`An event of the answer is longer than ${this.#maxBytes} bytes.`)
      }
    }
    return whole
  }

  /** What has come of an event that did not end, `null` when there is nothing. */
  rest(): Uint8Array | null {
    return this.#begun.length === 0 ? null : this.#joined(new Uint8Array())
  }

  /** Where the last event of a chunk ends: after an empty line. */
  #endIn(chunk: Uint8Array): number {
    let end = 0
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index]
      if (byte === lineFeed) {
        if (this.#line === 0) end = index + 1
        this.#line = 0
      } else if (byte !== carriageReturn) this.#line += 1
    }
    return end
  }

  #joined(last: Uint8Array): Uint8Array {
    const whole = this.#begun.length === 0 ? last : Buffer.concat([...this.#begun, last])
    this.#begun = []
    this.#size = 0
    return whole
  }
}
