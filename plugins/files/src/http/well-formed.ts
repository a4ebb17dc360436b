import { NodekeepError, type RoutesApp } from '@nodekeep/plugin-sdk'
import { textOf } from './utf8.ts'

/**
 * Refuses queries and JSON bodies that are no UTF-8. Fastify would take `%ff` in a query literally and put U+FFFD in
 * the place of such bytes of a body: a file would get another name than the client meant.
 */
export function demandUtf8(app: RoutesApp): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (isWellEncoded(request.raw.url ?? '')) done()
    else done(invalid('The query is not well encoded. Send UTF-8, percent-encoded.'))
  })

  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const text = textOf(body)
    if (text === null) done(invalid('The body is not valid UTF-8.'))
    else parse(request, text, done)
  })
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

function invalid(message: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', message)
}
