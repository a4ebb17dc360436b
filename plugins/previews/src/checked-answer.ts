import type { PictureFacts } from './protocol/orders.ts'

/** Most characters of a camera's name. */
const longestName = 100

/** Most pixels of a side. No format of the allowed ones has more. */
const longestSide = 2 ** 30

/**
 * Returns the facts in an answer of the sandbox, which may be in hostile hands: facts of another form count as missing.
 *
 * @returns null if the content is no picture
 */
export function factsIn(answer: unknown): PictureFacts | null {
  const facts = objectIn(objectIn(answer)?.facts)
  if (facts === null) return null
  const { width, height, taken, place, camera } = facts
  if (!isSide(width) || !isSide(height)) return null
  const isDate = typeof taken === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(taken)
  return {
    width,
    height,
    taken: isDate && !Number.isNaN(Date.parse(`${taken}Z`)) ? taken : null,
    place: placeIn(objectIn(place)),
    camera: typeof camera === 'string' ? camera.replace(/\p{Cc}/gu, '').slice(0, longestName) || null : null,
  }
}

/** Whether bytes are a WebP file by their head (RFC 9649, section 2.4). */
export function isWebp(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 12)).toString('latin1')
  return /^RIFF[\s\S]{4}WEBP$/.test(head)
}

function placeIn(place: Readonly<Record<string, unknown>> | null): PictureFacts['place'] {
  const { latitude, longitude } = place ?? {}
  if (!isWithin(latitude, 90) || !isWithin(longitude, 180)) return null
  return { latitude, longitude }
}

function isWithin(value: unknown, most: number): value is number {
  return typeof value === 'number' && Math.abs(value) <= most
}

function isSide(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= longestSide
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
}
