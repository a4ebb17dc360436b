import { isUint8Array } from 'node:util/types'
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
 * @throws NodekeepError PAYLOAD_TOO_LARGE with the first byte beyond the limit; TypeError for other content, which types
 * don't keep away from plugins in JavaScript
 */
export async function* limited(
  content: AsyncIterable<Uint8Array>,
  limit: number,
  atEnd: () => Promise<void> = async () => {},
): AsyncGenerator<Uint8Array, void, undefined> {
  if (typeof content?.[Symbol.asyncIterator] !== 'function') throw notContent()
  let size = 0
  for await (const chunk of content) {
    if (!isUint8Array(chunk)) throw notContent()
    size += chunk.byteLength
    if (size > limit) throw fileTooLarge(limit)
    yield chunk
  }
  await atEnd()
}

function notContent(): TypeError {
  return new TypeError('content must be an async iterable of Uint8Array')
}
