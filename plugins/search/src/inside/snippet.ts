import { placedWords, type Word } from './words.ts'

/** Words that must follow each other, without case and accents. */
export interface WantedWords {
  readonly words: readonly string[]
  /** Whether the last word may be the beginning of a longer one. */
  readonly isPrefix: boolean
}

/** A part of a snippet. */
export interface SnippetPart {
  readonly text: string
  /** Whether it is one of the words that were looked for. */
  readonly isMatch: boolean
}

/** A place with words that were looked for. */
interface Match {
  readonly wanted: WantedWords
  readonly start: number
  readonly end: number
}

/** Characters before the first match. */
const before = 60

/** Characters of a snippet. */
const length = 200

/** Places that are compared. */
const mostMatches = 1000

/**
 * The part of a text with the most of the wanted words, the first one of equal ones.
 *
 * @param text in NFC
 * @returns null if none of them is in the text
 */
export function snippetOf(text: string, wanted: readonly WantedWords[]): SnippetPart[] | null {
  const matches = [...matchesIn(text, wanted)]
  const first = bestOf(matches)
  if (first === null) return null
  const begin = wordBoundary(text, Math.max(0, first.start - before), first.start)
  const end = Math.max(first.end, wordBoundaryBefore(text, Math.min(text.length, begin + length), first.end))
  const parts: SnippetPart[] = []
  const add = (from: number, to: number, isMatch: boolean) => {
    const part = text.slice(from, to).replace(/\s+/g, ' ')
    if (part !== '') parts.push({ text: part, isMatch })
  }
  if (begin > 0) parts.push({ text: '… ', isMatch: false })
  let at = begin
  for (const match of matches) {
    if (match.start < at || match.end > end) continue
    add(at, match.start, false)
    add(match.start, match.end, true)
    at = match.end
  }
  add(at, end, false)
  if (end < text.length) parts.push({ text: ' …', isMatch: false })
  return parts
}

/** Finds the places of the wanted words, in their order. */
function* matchesIn(text: string, wanted: readonly WantedWords[]): Generator<Match> {
  const longest = Math.max(...wanted.map(({ words }) => words.length))
  const window: Word[] = []
  let found = 0
  for (const word of placedWords(text)) {
    window.push(word)
    if (window.length > longest) window.shift()
    for (const one of wanted) {
      const placed = window.slice(-one.words.length)
      const [first] = placed
      // A word may have a million characters, and so may the signs between two words.
      if (first === undefined || word.end - first.start > length || !isMatch(placed, one)) continue
      yield { wanted: one, start: first.start, end: word.end }
      found += 1
      if (found === mostMatches) return
    }
  }
}

function isMatch(placed: readonly Word[], { words, isPrefix }: WantedWords): boolean {
  if (placed.length < words.length) return false
  const last = words.length - 1
  return words.every((word, at) => {
    const there = placed[at]?.folded ?? ''
    return at === last && isPrefix ? there.startsWith(word) : there === word
  })
}

/** The first of the matches that have the most different wanted words near them. */
function bestOf(matches: readonly Match[]): Match | null {
  let best: Match | null = null
  let most = 0
  for (const [at, match] of matches.entries()) {
    const near = new Set<WantedWords>()
    for (
      let next = at;
      (matches[next]?.end ?? Number.POSITIVE_INFINITY) <= match.start + length - before;
      next += 1
    )
      near.add(matches[next]?.wanted as WantedWords)
    if (near.size <= most && best !== null) continue
    best = match
    most = near.size
  }
  return best
}

/** The begin of the first word after a place, at most at another place. */
function wordBoundary(text: string, from: number, most: number): number {
  if (from === 0) return 0
  const space = text.slice(from, most).search(/\s/)
  return space === -1 ? withoutHalfCharacter(text, from) : from + space + 1
}

/** The end of the last word before a place, at least another place. */
function wordBoundaryBefore(text: string, to: number, least: number): number {
  if (to === text.length) return to
  const space = text.slice(least, to).search(/\s\S*$/)
  return space === -1 ? withoutHalfCharacter(text, to) : least + space
}

/** A place that does not cut a character of two code units. */
function withoutHalfCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at
}
