import { plainText } from './plain-text.ts'

type HtmlParser = typeof import('htmlparser2')

/** Elements whose text nobody reads. */
const hidden = new Set(['script', 'style', 'template', 'noscript'])

/** Elements that do not end a word. */
const inline = new Set([
  'a',
  'abbr',
  'b',
  'bdi',
  'bdo',
  'cite',
  'code',
  'del',
  'dfn',
  'em',
  'font',
  'i',
  'ins',
])
for (const name of [
  'kbd',
  'mark',
  'q',
  's',
  'samp',
  'small',
  'span',
  'strike',
  'strong',
  'sub',
  'sup',
  'tt',
  'u',
  'var',
  'wbr',
])
  inline.add(name)

/**
 * The text of an HTML page, without scripts and styles.
 *
 * @param library the URL of `htmlparser2`
 * @param mostCharacters after which the rest is left out
 * @throws Refusal if it is no text
 */
export async function htmlText(
  content: Uint8Array,
  library: string,
  mostCharacters: number,
): Promise<string> {
  const { Parser } = (await import(library)) as HtmlParser
  const pieces: string[] = []
  let characters = 0
  let hiddenBy: string | null = null
  const add = (text: string) => {
    if (characters >= mostCharacters) return
    pieces.push(text)
    characters += text.length
  }
  const parser = new Parser({
    onopentagname(name) {
      if (hidden.has(name)) hiddenBy ??= name
      if (!inline.has(name)) add(' ')
    },
    onclosetag(name) {
      if (name === hiddenBy) hiddenBy = null
      if (!inline.has(name)) add(' ')
    },
    ontext(text) {
      if (hiddenBy === null) add(text)
    },
  })
  const text = plainText(content)
  for (let at = 0; at < text.length && characters < mostCharacters; at += chunk)
    parser.write(text.slice(at, at + chunk))
  parser.end()
  return pieces.join('')
}

/** Characters that the parser gets at a time. */
const chunk = 64 * 1024
