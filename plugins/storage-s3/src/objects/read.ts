import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { GetObjectCommandOutput, S3 } from '@aws-sdk/client-s3'
import {
  type FlatReading,
  heldBack,
  NodekeepError,
  type StorageDriverReadOptions,
} from '@nodekeep/plugin-sdk'
import { isMissingObject, isRangeRefused } from '../server/failures.ts'
import { etagOf, objectOf } from './object.ts'
import type { Place } from './part-upload.ts'

/** How often a reading goes on after a cut, if no byte comes between the cuts. */
const resumptions = 3

type Get = (start: number) => Promise<GetObjectCommandOutput>

/** Opens an object; null if there is none. */
export async function openObject(
  s3: S3,
  place: Place,
  { start, end, signal }: StorageDriverReadOptions,
): Promise<FlatReading | null> {
  const get: Get = (from) => {
    const range = from > 0 || end !== undefined ? { Range: `bytes=${from}-${end ?? ''}` } : {}
    return s3.getObject({ ...place, ...range }, { abortSignal: signal })
  }
  try {
    const answer = await get(start)
    const { first, size } = rangeOf(answer)
    const object = objectOf(place.Key, answer, size)
    const bytes = bytesOf(answer, get)
    const isWhole = first === 0 && answer.ContentLength === size
    const content = isWhole && object.sha256 !== undefined ? withChecksum(bytes, object.sha256) : bytes
    return { object, start: first, content }
  } catch (error) {
    if (isMissingObject(error)) return null
    if (!isRangeRefused(error)) throw error
    const head = await s3.headObject(place, { abortSignal: signal })
    return { object: objectOf(place.Key, head), content: new Uint8Array() }
  }
}

/** The bytes of an answer. After a cut, it goes on with the rest of the same object. */
async function* bytesOf(
  answer: GetObjectCommandOutput,
  get: Get,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { first, size } = rangeOf(answer)
  const end = first + (answer.ContentLength ?? 0)
  let position = first
  let current = answer
  for (let left = resumptions; ; left -= 1) {
    try {
      for await (const chunk of current.Body as Readable) {
        position += chunk.length
        left = resumptions
        yield chunk
      }
    } catch (error) {
      if (left === 0) throw error
    }
    if (position >= end) return
    if (left === 0) throw new Error(`The server sent ${position - first} of ${end - first} bytes.`)
    current = await get(position)
    const rest = rangeOf(current)
    if (etagOf(current.ETag) !== etagOf(answer.ETag) || rest.size !== size || rest.first !== position) {
      ;(current.Body as Readable).destroy()
      throw new NodekeepError('CONFLICT', 'The file was changed while it was read. Read it again.')
    }
  }
}

/** Keeps the last chunk back until the checksum is right, so that a reader of wrong bytes never has all of them. */
function withChecksum(bytes: AsyncIterable<Uint8Array>, sha256: string): AsyncIterable<Uint8Array> {
  const hash = createHash('sha256')
  async function* hashed() {
    for await (const chunk of bytes) {
      hash.update(chunk)
      yield chunk
    }
  }
  return heldBack(hashed(), async () => {
    if (hash.digest('hex') !== sha256) throw new Error('The server sent other bytes than were stored.')
  })
}

/** The first byte of an answer, and the size of the whole object. A server that knows no ranges sends the whole. */
function rangeOf({ ContentRange, ContentLength }: GetObjectCommandOutput) {
  // A proxy on the way may leave it out. The object would pass for an empty one.
  if (ContentLength === undefined) throw new Error('The server does not say how many bytes it sends.')
  const [, first, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(ContentRange ?? '') ?? []
  return first === undefined
    ? { first: 0, size: ContentLength }
    : { first: Number(first), size: Number(size) }
}
