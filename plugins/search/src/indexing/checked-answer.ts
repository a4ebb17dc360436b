import type { SnippetPart } from '../inside/snippet.ts'

/** Most parts of a snippet: it has some 200 characters. */
const mostParts = 500

/** Most characters of a snippet. */
const mostCharacters = 1000

/**
 * Returns the snippet in an answer of the sandbox, which may be in hostile hands.
 *
 * @returns null if there is none, or if it has another form
 */
export function snippetIn(answer: unknown): readonly SnippetPart[] | null {
  const { snippet } = (answer ?? {}) as { readonly snippet?: unknown }
  if (!Array.isArray(snippet) || snippet.length > mostParts || !snippet.every(isPart)) return null
  const characters = snippet.reduce((sum: number, { text }) => sum + text.length, 0)
  return characters > mostCharacters ? null : snippet.map(({ text, isMatch }) => ({ text, isMatch }))
}

function isPart(value: unknown): value is SnippetPart {
  const { text, isMatch } = (value ?? {}) as Partial<Record<keyof SnippetPart, unknown>>
  return typeof text === 'string' && typeof isMatch === 'boolean'
}
