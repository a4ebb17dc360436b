import { invalid } from '@nodekeep/plugin-sdk'
import type { WantedWords } from '../inside/snippet.ts'
import { folded, wordsOf } from '../inside/words.ts'

/** A query, as people write it: words, and phrases in quotation marks. */
export interface Query {
  /** Each of these is in a name that matches: without case and accents. */
  readonly parts: readonly string[]
  /** Each of these is in a content that matches. None if the query has no letters and digits. */
  readonly wanted: readonly WantedWords[]
  /** These words for the full-text index, in the syntax of FTS5; empty if there are none. */
  readonly expression: string
}

/**
 * Parses a query. The last word may be the beginning of a word, unless it is short or in quotation marks.
 *
 * @throws NodekeepError VALIDATION_ERROR if it has no word
 */
export function parseQuery(text: string): Query {
  const query = text.normalize('NFC').trim()
  const found = [...query.matchAll(/"([^"]*)("?)|([^\s"]+)/g)].flatMap((match) => {
    const [whole, phrase, end, word] = match
    const part = (phrase ?? word ?? '').trim()
    const isOpen = phrase === undefined || end === ''
    const isLast = match.index + whole.length === query.length
    return part === '' ? [] : [{ part, mayGoOn: isOpen && isLast }]
  })
  if (found.length === 0) throw invalid('Name a word to look for.')
  const withWords = firstWords(
    found.map(({ part, mayGoOn }) => {
      const words = wordsOf(part)
      return { words, isPrefix: mayGoOn && mayBePrefix(words.at(-1) ?? '') }
    }),
  )
  return {
    parts: found.map(({ part }) => folded(part)),
    wanted: withWords.map(({ words, isPrefix }) => ({ words: words.map(folded), isPrefix })),
    // Words have letters and digits only, and in quotation marks no word is an operator.
    expression: withWords
      .map(({ words, isPrefix }) => `"${words.join(' ')}"${isPrefix ? ' *' : ''}`)
      .join(' AND '),
  }
}

/** Words of a query that are looked for in contents: the index is read once for each of them. */
const mostWords = 20

/** The first words, each phrase once. */
function firstWords(all: readonly WantedWords[]): WantedWords[] {
  const first = new Map<string, WantedWords>()
  let count = 0
  for (const { words, isPrefix } of all) {
    const taken = words.slice(0, mostWords - count)
    const phrase = folded(taken.join(' '))
    if (phrase === '' || first.has(phrase)) continue
    first.set(phrase, { words: taken, isPrefix: isPrefix && taken.length === words.length })
    count += taken.length
  }
  return [...first.values()]
}

/** Characters of a word that may be the beginning of another one. Shorter ones begin so many words that all of them take seconds to find. */
const shortestPrefix = 3

/** The first character of scripts whose words have few characters, such as those of East Asia. */
const denseScripts = /[\u2e80-\u{3ffff}]/u

function mayBePrefix(word: string): boolean {
  return word.length >= shortestPrefix || denseScripts.test(word)
}
