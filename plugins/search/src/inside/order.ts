import type { SnippetPart, WantedWords } from './snippet.ts'

/** The format of a file from which text can be extracted. */
export type TextFormat = 'text' | 'html' | 'pdf'

/** Characters of a text. The rest of a longer one is left out. */
export const mostCharacters = 4 * 1024 ** 2

/** An order to the sandbox. */
export interface ExtractionOrder {
  readonly format: TextFormat
  /** The URL of the library for the format; empty for a text. */
  readonly library: string
  /** The words of a snippet; null to extract the text. */
  readonly wanted: readonly WantedWords[] | null
}

/** The answer. The text is its only part, in UTF-8, if no snippet was asked for. */
export interface ExtractionAnswer {
  readonly snippet: readonly SnippetPart[] | null
}
