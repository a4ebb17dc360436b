/** What stands where a secret stood. */
export const secretMark = '[secret]'

/** Names of headers, properties and query parameters whose values are never logged, in any case of letters. */
const names =
  '(?:(?:proxy-)?authorization|(?:set-)?cookie|(?:(?:session|access|refresh|id|api)_?)?token|claim|' +
  '(?:x-)?api[_-]?key|password|passphrase|(?:client_?)?secret|private_?key|mnemonic)'

const STRING = '"(?:[^"\\\\]|\\\\.)*"'

/** Each alternative but the last captures what stays. */
const shapes = [
  // "name": and a string, a number or a list of strings; in a list of raw headers, a comma parts the two.
  `("${names}":|"(?:(?:proxy-)?authorization|(?:set-)?cookie)",)(?:${STRING}|-?\\d[\\d.e+-]*|\\[(?:${STRING}|[^"\\]])*\\])`,
  // The same within a JSON string, as when a message quotes JSON. The end of the value stays where it is.
  `(\\\\"${names}\\\\"\\s{0,8}:\\s{0,8}\\\\")(?:[^"\\\\]|\\\\\\\\(?:\\\\["\\\\]|[^"\\\\]))+`,
  // ?name=value and &name=value
  `([?&]${names}=)[^&#\\s"\\\\]+`,
  // What follows "Bearer".
  '(bearer )[\\w.~+/=-]{6,}',
  // The user and password of a URL.
  '(://)[^\\s/@"\\\\]+(?=@)',
  // Session tokens and API tokens of the node, also cut short.
  'nk[st]_[\\w-]{16,}',
]

const pattern = new RegExp(shapes.join('|'), 'gi')

/**
 * Takes out of a JSON line or another text what is secret by its name or its form, at any depth.
 *
 * pino's own `redact` copies every object that is logged, which takes several times as long as all the rest of
 * logging, and it reaches fixed depths only.
 */
export function scrubShapes(text: string): string {
  return text.replace(pattern, (_, property?: string, ...kept: (string | undefined)[]) =>
    property ? `${property}"${secretMark}"` : `${kept.slice(0, 4).join('')}${secretMark}`,
  )
}
