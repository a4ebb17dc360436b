import { NodekeepError } from './errors.ts'
import type { RoutesApp } from './routes.ts'

/** Levels of nested objects and arrays in a large body. */
const mostLevels = 1000
/** Values in a large body, estimated: the number of commas, colons and opening brackets. */
const mostValues = 500_000
/** Characters. A shorter body is parsed without a check, because it cannot take long. */
const largeBody = 16 * 1024

/**
 * Refuses JSON bodies that would take too long to parse, before they are parsed. It is for routes that accept large
 * bodies: ten megabytes of brackets would block the whole node for a second and take a hundred times their memory. It
 * replaces the JSON parser of the plugin's Fastify instance, so call it before you register the routes.
 *
 * A body with more than 1000 levels gets VALIDATION_ERROR, a body with more than 500,000 values PAYLOAD_TOO_LARGE.
 *
 * @example routes((app) => {
 *   limitJsonComplexity(app)
 *   app.post('/import', { bodyLimit: 10_000_000 }, handler)
 * })
 */
export function limitJsonComplexity(app: RoutesApp): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    const refusal = body.length < largeBody ? null : refusalOf(body)
    if (refusal === null) parse(request, body, done)
    else done(refusal)
  })
}

function refusalOf(json: string): NodekeepError | null {
  let [depth, values] = [0, 0]
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case '"':
        at = endOfString(json, at)
        break
      case '[':
      case '{':
        depth += 1
        values += 1
        break
      case ']':
      case '}':
        depth -= 1
        break
      case ',':
      case ':':
        values += 1
    }
    if (depth > mostLevels) return tooDeep()
    if (values > mostValues) return tooMany()
  }
  return null
}

/**
 * Returns the index of the closing quote of a string. A long string, such as a file in base64, is skipped in one search.
 */
function endOfString(json: string, start: number): number {
  let end = start
  do end = json.indexOf('"', end + 1)
  while (end !== -1 && isEscaped(json, end))
  return end === -1 ? json.length : end
}

function isEscaped(json: string, at: number): boolean {
  let backslashes = 0
  while (json[at - 1 - backslashes] === '\\') backslashes += 1
  return backslashes % 2 === 1
}

function tooDeep(): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `The JSON of the body has more than ${mostLevels} levels.`)
}

function tooMany(): NodekeepError {
  return new NodekeepError('PAYLOAD_TOO_LARGE', `The JSON of the body has more than ${mostValues} values.`)
}
