import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The first words of a block comment, or of the first of several line comments, that are not its subject. */
const opening =
  /(?:^[ \t]*\/\*\*?[\s*]*|(?<!^[ \t]*\/\/.*\n)^[ \t]*\/\/[ \t]*)(What|Who|Whoever|That|The same|So many|So much|So long)\b/gm

/**
 * Checks that comments begin with their subject or, on a function, with a verb.
 *
 * @returns one line for each comment that begins otherwise
 */
export function checkComments(root: string, files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return [...text.matchAll(opening)].map(({ 0: found, 1: word, index }) => {
      const line = text.slice(0, index + found.length).split('\n').length
      return `${file}:${line}: begin the comment with its subject, not with "${word}"`
    })
  })
}
