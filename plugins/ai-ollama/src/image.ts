import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * The base64 of an image's `data:` URL (RFC 2397).
 *
 * @throws NodekeepError VALIDATION_ERROR for another URL
 */
export function imageData(url: string): string {
  const comma = url.indexOf(',')
  if (!/^data:image\/[^;]+(;[^;]*)*;base64$/i.test(url.slice(0, Math.max(comma, 0)))) {
    throw new NodekeepError('VALIDATION_ERROR', 'An image must be a "data:" URL in base64.', {
      permanent: true,
    })
  }
  return url.slice(comma + 1)
}
