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
  #isBlank = true

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
    let start = 0
    for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, start)) {
      if (this.#isBlank && isBlank(chunk, start, at)) end = at + 1
      this.#isBlank = true
      start = at + 1
    }
    this.#isBlank &&= isBlank(chunk, start, chunk.length)
    return end
  }

  #joined(last: Uint8Array): Uint8Array {
    const whole = this.#begun.length === 0 ? last : Buffer.concat([...this.#begun, last])
    this.#begun = []
    this.#size = 0
    return whole
  }
}

/** Whether this part of a line is nothing but the beginning of its end. */
function isBlank(chunk: Uint8Array, start: number, end: number): boolean {
  let index = start
  while (index < end && chunk[index] === carriageReturn) index += 1
  return index === end
}
