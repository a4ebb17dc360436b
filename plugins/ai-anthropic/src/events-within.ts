const lineFeed = 10
const carriageReturn = 13
const dataField = Buffer.from('data:')
const pingLine = Buffer.from('event: ping')

/** What the SDK passes on in place of a ping, which it keeps to itself. */
export interface SignOfLife {
  readonly type: 'sign_of_life'
}

const signOfLife = Buffer.from('event: sign_of_life\ndata: {"type":"sign_of_life"}\n\n')

/**
 * Passes server-sent events on while none is longer than allowed: the SDK gathers an event before it looks at it. An
 * empty line ends one that has data. Others, such as comments, the SDK keeps until there is one, so that they count.
 * After each `ping`, of which the SDK tells nobody, it adds a `SignOfLife`.
 */
export async function* eventsWithin(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let event = 0
  let line = 0
  /** How much of the line's beginning is that of a field with data, and of the name of a ping. */
  let asData = 0
  let asPing = 0
  let hasData = false
  let isPing = false
  for await (const chunk of body) {
    let start = 0
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at]
      event += 1
      if (byte === lineFeed) {
        if (line === 0 && hasData) {
          if (isPing) {
            yield chunk.subarray(start, at + 1)
            yield signOfLife
            start = at + 1
          }
          event = 0
          hasData = false
          isPing = false
        }
        hasData ||= asData === dataField.length
        isPing ||= asPing === pingLine.length && line === pingLine.length
        line = 0
        asData = 0
        asPing = 0
      } else if (byte !== carriageReturn) {
        if (asData === line && byte === dataField[line]) asData += 1
        if (asPing === line && byte === pingLine[line]) asPing += 1
        line += 1
      }
    }
    if (event > maxBytes) throw new Error(`An event of the answer is longer than ${maxBytes} bytes.`)
    if (start < chunk.length) yield chunk.subarray(start)
  }
}
