/** The text that replaces a secret in output. */
export const secretMark = '[secret]'

/** Shorter values are not replaced: they would also hide ordinary words. */
export const minSecretLength = 6

/** Knows the secrets of this process and removes them from text. The names and forms of secrets apply at once. */
export class Secrets {
  readonly #forms = new Set<string>()
  #pattern: RegExp | undefined

  /**
   * Replaces the value from now on wherever it appears: literally, within JSON, in JSON within JSON, or in a URL. Values
   * of fewer than 6 characters are ignored.
   */
  add(value: string): void {
    if (value.length < minSecretLength) return
    const before = this.#forms.size
    for (const form of formsOf(value)) this.#forms.add(form)
    if (this.#forms.size > before) this.#pattern = compile(this.#forms)
  }

  /** Removes added values, tokens of the node, credentials in URLs, and fields with the name of a secret. */
  scrub(text: string): string {
    return scrubShapes(this.#pattern ? text.replace(this.#pattern, secretMark) : text)
  }
}

function formsOf(value: string): string[] {
  const inJson = withinJson(value)
  const inUrl = encodeURIComponent(value.toWellFormed())
  const inForm = new URLSearchParams([['', value]]).toString().slice(1)
  return [value, inJson, withinJson(inJson), inUrl, inForm]
}

function withinJson(value: string): string {
  return JSON.stringify(value).slice(1, -1)
}

/** Compiles one expression for all forms. Longer forms come first, so that a secret that contains another is replaced as a whole. */
function compile(forms: ReadonlySet<string>): RegExp {
  const literals = [...forms].sort((a, b) => b.length - a.length).map(RegExp.escape)
  return new RegExp(literals.join('|'), 'g')
}

/** Names of headers, properties and query parameters whose values are never logged, in upper or lower case. */
const names =
  '(?:(?:proxy-)?authorization|(?:set-)?cookie|(?:(?:session|access|refresh|id|api)_?)?token|claim|' +
  '(?:x-)?api[_-]?key|password|passphrase|(?:client_?)?secret|private_?key|mnemonic)'

const jsonString = '"(?:[^"\\\\]|\\\\.)*"'

/** All alternatives but the last capture the part of the text that stays. */
const shapes = [
  // "name": and a string, a number or a list of strings. In a list of raw headers, a comma separates name and value.
  `("${names}":|"(?:(?:proxy-)?authorization|(?:set-)?cookie)",)(?:${jsonString}|-?\\d[\\d.e+-]*|\\[(?:${jsonString}|[^"\\]])*\\])`,
  // A property within a JSON string, such as a message that quotes JSON. The end of the value stays in place.
  `(\\\\"${names}\\\\"\\s{0,8}:\\s{0,8}\\\\")(?:[^"\\\\]|\\\\\\\\(?:\\\\["\\\\]|[^"\\\\]))+`,
  // ?name=value and &name=value
  `([?&]${names}=)[^&#\\s"\\\\]+`,
  // The credentials after "Bearer".
  '(bearer )[\\w.~+/=-]{6,}',
  // The user and password of a URL.
  '(://)[^\\s/@"\\\\]+(?=@)',
  // Session tokens and API tokens of the node, also cut short.
  'nk[st]_[\\w-]{16,}',
]

const shapePattern = new RegExp(shapes.join('|'), 'gi')

/**
 * Removes values that are secret by their name or their form, at any depth of a JSON line or another text.
 *
 * pino's own `redact` copies every logged object, which takes several times as long as the rest of logging, and it
 * reaches fixed depths only.
 */
function scrubShapes(text: string): string {
  return text.replace(shapePattern, (_, property?: string, ...kept: (string | undefined)[]) =>
    property ? `${property}"${secretMark}"` : `${kept.slice(0, 4).join('')}${secretMark}`,
  )
}
