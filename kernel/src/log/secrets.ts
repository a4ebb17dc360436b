import { scrubShapes, secretMark } from './secret-shapes.ts'

/** Shorter values are not looked for: they would blacken ordinary words. */
export const minSecretLength = 6

/** Knows the secrets of this process and takes them out of text. */
export interface Secrets {
  /**
   * From now on the value is replaced wherever it appears: as it is, within JSON, in JSON within JSON, or in a
   * URL. Values of fewer than 6 characters are ignored.
   */
  add(value: string): void
  /** The text without added values, tokens of the node, credentials in URLs, and fields that are secret by name. */
  scrub(text: string): string
}

/** Starts without any known value; names and forms of secrets are known at once. */
export function createSecrets(): Secrets {
  const forms = new Set<string>()
  let pattern: RegExp | undefined

  return {
    add(value) {
      if (value.length < minSecretLength) return
      const before = forms.size
      for (const form of formsOf(value)) forms.add(form)
      if (forms.size > before) pattern = compile(forms)
    },
    scrub: (text) => scrubShapes(pattern ? text.replace(pattern, secretMark) : text),
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

/** One expression for all. Longer forms come first, so that a secret within another leaves no rest. */
function compile(forms: ReadonlySet<string>): RegExp {
  const literals = [...forms].sort((a, b) => b.length - a.length).map(literal)
  return new RegExp(literals.join('|'), 'g')
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
