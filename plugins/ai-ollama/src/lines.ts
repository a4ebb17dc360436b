const lineFeed = 10

/**
 * Parts a body of JSON lines (application/x-ndjson) into its lines, without those that are empty.
 *
 * @throws Error when a line is longer than allowed
 */
export async function* linesWithin(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string> {
  let line = Buffer.alloc(4096)
  let length = 0
  const append = (part: Uint8Array) => {
    if (length + part.length > maxBytes)
      throw new Error(`A line of the answer is longer than ${maxBytes} bytes.`)
    if (length + part.length > line.length) {
      line = Buffer.concat([line], Math.max(line.length * 2, length + part.length))
    }
    line.set(part, length)
    length += part.length
  }
  const take = () => {
    const text = line.toString('utf8', 0, length).trim()
    length = 0
    return text
  }
  for await (const chunk of body) {
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      append(chunk.subarray(start, end))
      start = end + 1
      const text = take()
      if (text !== '') yield text
    }
    append(chunk.subarray(start))
  }
  const rest = take()
  if (rest !== '') yield rest
}
