import { create as contentDisposition } from 'content-disposition'
import type { FastifyRequest } from 'fastify'
import { lookup } from 'mime-types'
import { NodekeepError } from '../errors.ts'

/**
 * Contains a stored page that opens in a browser: no scripts, no frames, no forms, no loaded resources, and an origin
 * other than the node's. Styles are allowed, because browsers need them to show an image or a text.
 */
const sandbox = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

/** Types that browsers show without running anything in them. All others are saved rather than opened. */
const shownInline = /^(image\/(?!svg)|audio\/|video\/|text\/plain$)/

/** The destinations of requests by which a page runs an answer, or styles itself with it (`Sec-Fetch-Dest` of Fetch Metadata). */
const code = new Set([
  'audioworklet',
  'paintworklet',
  'script',
  'serviceworker',
  'sharedworker',
  'style',
  'worker',
  'xslt',
])

/**
 * Returns the headers of an answer with the content of a stored file: its media type by its name, and the protection of the node
 * and its pages from it. The length, the version and caching are left to the caller.
 *
 * @param type the media type, if it does not follow from the name
 */
export function contentHeaders(name: string, type = mediaTypeOf(name)): Record<string, string> {
  return {
    'accept-ranges': 'bytes',
    'content-type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    'content-disposition': contentDisposition(name, {
      type: shownInline.test(type) ? 'inline' : 'attachment',
    }),
    'content-security-policy': sandbox,
    // Pages of other origins, including other ports of this machine, cannot embed the file as an image or a script.
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  }
}

/** Returns the media type of a file by its name, without parameters: `application/octet-stream` for an unknown one. */
export function mediaTypeOf(name: string): string {
  // Without the slash, a name such as "png" would be taken for an extension.
  return lookup(`/${name}`) || 'application/octet-stream'
}

/**
 * Refuses a file as a part of a page. The pages of the node may run scripts of their own origin, and this is the same one.
 *
 * @throws NodekeepError FORBIDDEN
 */
export function refuseAsCode({ headers }: Pick<FastifyRequest, 'headers'>): void {
  if (code.has(String(headers['sec-fetch-dest'])))
    throw new NodekeepError('FORBIDDEN', 'A page cannot run a stored file, or use it as a style.')
}
