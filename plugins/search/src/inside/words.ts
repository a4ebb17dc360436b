/**
 * The characters of words, by the rules of SQLite's tokenizer `unicode61`: letters, digits and private use. A very long word counts as several
 * ones, since the regular expression takes stack for each character.
 */
const wordPattern = /[\p{L}\p{N}\p{Co}]{1,9999}/gu

/** A word of a text, with its place in it. */
export interface Word {
  /** Without case and accents. */
  readonly folded: string
  readonly start: number
  readonly end: number
}

/** A text without case and accents. */
export function folded(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII needs no normalization
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase()
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().normalize('NFC')
}

/** The words of a text in NFC, as they are written. */
export function wordsOf(text: string): string[] {
  return text.normalize('NFC').match(wordPattern) ?? []
}

/** The words of a text in NFC, in their order. */
export function* placedWords(text: string): Generator<Word> {
  for (const match of text.matchAll(wordPattern)) {
    const [word] = match
    yield { folded: folded(word), start: match.index, end: match.index + word.length }
  }
}
