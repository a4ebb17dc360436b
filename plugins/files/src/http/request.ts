import { type FilesService, invalid, type RoutesApp, type UserFiles, userOf } from '@nodekeep/plugin-sdk'
import type { FastifyRequest } from 'fastify'

/** The files of the user who makes a request. */
export function userFilesOf(files: FilesService, request: FastifyRequest): UserFiles {
  return files.for(userOf(request))
}

/**
 * Refuses queries and JSON bodies that are not UTF-8. Fastify would take `%ff` in a query literally, and replace such
 * bytes of a body by U+FFFD: a file would get another name than the client meant.
 */
export function requireUtf8(app: RoutesApp): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (isWellEncoded(request.raw.url ?? '')) done()
    else done(invalid('The query is not well encoded. Send UTF-8, percent-encoded.'))
  })

  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const text = decodeUtf8(body)
    if (text === null) done(invalid('The body is not valid UTF-8.'))
    else parse(request, text, done)
  })
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of UTF-8 bytes; null for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

function isWellEncoded(url: string): boolean {
  const start = url.indexOf('?')
  if (start === -1) return true
  const query = url.slice(start)
  // Node gives each byte of a request line as one character.
  if (/[^\x21-\x7e]/.test(query)) return false
  if (!query.includes('%')) return true
  try {
    decodeURIComponent(query)
    return true
  } catch {
    return false
  }
}
