import { NodekeepError } from '@nodekeep/plugin-sdk'

/** @param limit bytes of `storage.maxFileSize` */
export function fileTooLarge(limit: number): NodekeepError {
  return new NodekeepError(
    'PAYLOAD_TOO_LARGE',
    `file too large: the limit is ${limit} bytes (storage.maxFileSize)`,
  )
}

/**
 * Passes content on up to a limit.
 *
 * @param atEnd awaited when all has come, before the end is told
 * @throws NodekeepError PAYLOAD_TOO_LARGE with the first byte beyond the limit
 */
export async function* limited(
  content: AsyncIterable<Uint8Array>,
  limit: number,
  atEnd: () => Promise<void> = async () => {},
): AsyncGenerator<Uint8Array, void, undefined> {
  let size = 0
  for await (const chunk of content) {
    size += chunk.length
    if (size > limit) throw fileTooLarge(limit)
    yield chunk
  }
  await atEnd()
}
