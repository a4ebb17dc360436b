const lineFeed = 10
const carriageReturn = 13
const dataField = Buffer.from('data:')

/**
 * Cuts a stream of server-sent events into pieces that end with an event. The SDK gathers an event piece by piece, and
 * begins anew with each: it takes an event of any length, and one of many small pieces takes it very long. What has no
 * data, such as a comment, it keeps until there is an event with some; here that is a part of the event.
 */
export class WholeEvents {
  readonly #maxBytes: number
  #begun: Uint8Array[] = []
  #size = 0
  /** Of the line that has begun: whether it is empty so far, and how much of "data:" it begins with. */
  #isBlank = true
  #matched = 0
  /** Of the event that has begun: whether it has data, and whether it has other lines. */
  #hasData = false
  #hasOther = false

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
      this.#look(chunk, start, at)
      start = at + 1
      if (this.#endsEvent()) end = start
    }
    this.#look(chunk, start, chunk.length)
    return end
  }

  /** Looks at a part of a line. */
  #look(chunk: Uint8Array, start: number, end: number): void {
    this.#isBlank &&= isBlank(chunk, start, end)
    for (let at = start; at < end && this.#matched >= 0 && this.#matched < dataField.length; at += 1) {
      this.#matched = chunk[at] === dataField[this.#matched] ? this.#matched + 1 : -1
    }
  }

  /** Ends a line, and tells whether the event ends with it. */
  #endsEvent(): boolean {
    const ends = this.#isBlank && (this.#hasData || !this.#hasOther)
    if (ends) this.#hasData = this.#hasOther = false
    else if (this.#matched === dataField.length) this.#hasData = true
    else if (!this.#isBlank) this.#hasOther = true
    this.#isBlank = true
    this.#matched = 0
    return ends
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
