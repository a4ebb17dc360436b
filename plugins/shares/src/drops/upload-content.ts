import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Allowance } from './allowances.ts'

/** The content of an empty file. */
export async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {}

/** Passes bytes on, and refuses more than a request may have. */
export async function* atMost(
  content: AsyncIterable<Uint8Array>,
  most: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let left = most
  for await (const chunk of content) {
    left -= chunk.length
    if (left < 0)
      throw new NodekeepError('PAYLOAD_TOO_LARGE', 'The request has more bytes than the upload lacks.')
    yield chunk
  }
}

/** Passes bytes on of a file whose length is not known, and takes their part of what the link allows before. */
export async function* bounded(
  content: AsyncIterable<Uint8Array>,
  maxFileSize: number,
  allowance: Allowance,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of content) {
    if (allowance.bytes + chunk.length > maxFileSize) throw fileTooLarge(maxFileSize)
    await allowance.extend(chunk.length)
    yield chunk
  }
}

/** The error of a file that is larger than a node takes. */
export function fileTooLarge(most: number): NodekeepError {
  return new NodekeepError('PAYLOAD_TOO_LARGE', `A file has at most ${most.toLocaleString('en')} bytes.`)
}
