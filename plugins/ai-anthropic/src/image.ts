import type Anthropic from '@anthropic-ai/sdk'
import { NodekeepError } from '@nodekeep/plugin-sdk'

type MediaType = Anthropic.Base64ImageSource['media_type']

const mediaTypes: readonly string[] = [
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
] satisfies MediaType[]

/**
 * An image as the API takes it, from a `data:` URL (RFC 2397) in base64.
 *
 * @throws NodekeepError VALIDATION_ERROR for another URL or kind of image
 */
export function imageBlock(url: string): Anthropic.ImageBlockParam {
  const comma = url.indexOf(',')
  const [, mediaType = ''] = /^data:([^;]*)(?:;[^;]*)*;base64$/i.exec(url.slice(0, Math.max(comma, 0))) ?? []
  const media_type = mediaType.toLowerCase()
  if (!isMediaType(media_type)) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      `An image must be a "data:" URL in base64, of the type ${mediaTypes.join(', ')}.`,
      { permanent: true },
    )
  }
  return { type: 'image', source: { type: 'base64', media_type, data: url.slice(comma + 1) } }
}

function isMediaType(type: string): type is MediaType {
  return mediaTypes.includes(type)
}
