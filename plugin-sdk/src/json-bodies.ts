import { NodekeepError } from './errors.ts'
import type { RoutesApp } from './routes.ts'

/** Levels of objects and arrays that a large body may have. */
const mostLevels = 1000
/** Values that a large body may have, roughly: its commas, colons and opening brackets are counted. */
const mostValues = 500_000
/** What is shorter is parsed at once, in characters: it cannot take long. */
const largeBody = 16 * 1024

/**
 * For routes whose bodies may be large: refuses JSON that would take long to parse for its size, before it is parsed.
 * Ten megabytes of nothing but brackets hold up the whole node for a second, and take a hundred times their memory.
 * Takes the place of the parser of the plugin's instance of Fastify, so it is called before the routes are registered.
 *
 * Such requests are answered with VALIDATION_ERROR for more than 1000 levels, PAYLOAD_TOO_LARGE for more than 500,000
 * values.
 */
export function boundJson(app: RoutesApp): void {
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

/** Where the string ends that begins at a quote: long ones, such as files in base64, are passed over in one go. */
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
