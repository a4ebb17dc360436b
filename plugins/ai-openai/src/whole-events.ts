const lineFeed = 10
const carriageReturn = 13

/**
 * Passes a stream of server-sent events on in pieces that end with an event. The SDK gathers an event piece by piece,
 * and begins anew with each: it takes an event of any length, and one of many small pieces takes it very long.
 *
 * @param maxBytes the longest event
 */
export async function* wholeEvents(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let begun: Uint8Array[] = []
  let size = 0
  let line = 0
  for await (const chunk of body) {
    let end = 0
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index]
      if (byte === lineFeed) {
        // An empty line ends an event.
        if (line === 0) end = index + 1
        line = 0
      } else if (byte !== carriageReturn) line += 1
    }
    if (end > 0) {
      yield begun.length === 0 ? chunk.subarray(0, end) : Buffer.concat([...begun, chunk.subarray(0, end)])
      begun = []
      size = 0
    }
    if (end === chunk.length) continue
    begun.push(chunk.subarray(end))
    size += chunk.length - end
    if (size > maxBytes) throw new Error(`An event of the answer is longer than ${maxBytes} bytes.`)
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}
