import type { FileEntry } from '@nodekeep/plugin-sdk'
import { create as contentDisposition } from 'content-disposition'
import mime from 'mime'
import { entityTag } from './validators.ts'

/**
 * Whatever a stored page would like to do: no script, no frame, no form, nothing loaded, and an origin that is not
 * the node's. Styles are allowed, which browsers need to show a picture or a text.
 */
const sandbox = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

/** Types that browsers show without running anything of it. All others are saved rather than opened. */
const shown = /^(image\/(?!svg)|audio\/|video\/|text\/plain$)/

/** The headers that say which version of a file an answer is about. */
export function versionHeaders(file: FileEntry): Record<string, string> {
  return {
    etag: entityTag(file),
    'last-modified': file.modified.toUTCString(),
    'cache-control': 'private, no-cache',
  }
}

/** The headers of an answer with a file's content, but for its length. */
export function fileHeaders(file: FileEntry): Record<string, string> {
  const type = mime.getType(file.path) ?? 'application/octet-stream'
  return {
    ...versionHeaders(file),
    'accept-ranges': 'bytes',
    'content-type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    'content-disposition': contentDisposition(file.name, {
      type: shown.test(type) ? 'inline' : 'attachment',
    }),
    'content-security-policy': sandbox,
    // Pages of other origins, other ports of this machine among them, get nothing of it into an image or a script.
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  }
}
