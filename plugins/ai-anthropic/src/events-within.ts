const lineFeed = 10
const carriageReturn = 13
const dataField = Buffer.from('data:')

/**
 * Passes server-sent events on while none is longer than allowed: the SDK gathers an event before it looks at it. An
 * empty line ends one that has data. Others, such as comments, the SDK keeps until there is one, so that they count.
 */
export async function* eventsWithin(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let event = 0
  let line = 0
  let matched = 0
  let hasData = false
  for await (const chunk of body) {
    for (const byte of chunk) {
      event += 1
      if (byte === lineFeed) {
        if (line === 0 && hasData) {
          event = 0
          hasData = false
        }
        hasData ||= matched === dataField.length
        line = 0
        matched = 0
      } else if (byte !== carriageReturn) {
        if (matched === line && byte === dataField[line]) matched += 1
        line += 1
      }
    }
    if (event > maxBytes) throw new Error(`An event of the answer is longer than ${maxBytes} bytes.`)
    yield chunk
  }
}
