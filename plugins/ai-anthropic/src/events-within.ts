const lineFeed = 10
const carriageReturn = 13

/**
 * Passes server-sent events on while none is longer than allowed: the SDK gathers an event before it looks at it. An
 * empty line ends one.
 */
export async function* eventsWithin(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let event = 0
  let line = 0
  for await (const chunk of body) {
    for (const byte of chunk) {
      event += 1
      if (byte !== lineFeed) line += byte === carriageReturn ? 0 : 1
      else {
        if (line === 0) event = 0
        line = 0
      }
    }
    if (event > maxBytes) throw new Error(`An event of the answer is longer than ${maxBytes} bytes.`)
    yield chunk
  }
}
