/** A word, a text in quotes, or a list in parentheses. `start` and `end` are its offsets in the source. */
export type Expression = Atom | Text | List

interface Atom {
  readonly kind: 'atom'
  readonly value: string
}

interface Text {
  readonly kind: 'text'
  readonly value: string
}

export interface List {
  readonly kind: 'list'
  readonly items: readonly Expression[]
  readonly start: number
  readonly end: number
}

/** All tokens except comments. Comments may be nested, so the reader skips them. */
const token = /\s+|;;[^\n]*|\(;|[()]|"(?:[^"\\]|\\.)*"|[^\s()";]+/y

/**
 * Reads S-expressions as the text format of WebAssembly has them (specification, chapter 6, "Lexical Format").
 *
 * @throws Error with the position of invalid text
 */
export function readExpressions(source: string): List[] {
  const open: { items: Expression[]; start: number }[] = []
  const found: List[] = []
  const add = (expression: Expression) => open.at(-1)?.items.push(expression)
  let at = 0
  while (at < source.length) {
    token.lastIndex = at
    const [word = ''] = token.exec(source) ?? []
    if (word === '') throw new Error(`What stands at ${at} is not understood: ${source.slice(at, at + 40)}`)
    const start = at
    at += word.length
    if (word === '(;') at = endOfComment(source, at)
    else if (word === '(') open.push({ items: [], start })
    else if (word === ')') {
      const closed = open.pop()
      if (closed === undefined) throw new Error(`There is a ")" too many at ${start}.`)
      const list: List = { kind: 'list', items: closed.items, start: closed.start, end: at }
      if (open.length === 0) found.push(list)
      else add(list)
    } else if (word.startsWith('"')) add({ kind: 'text', value: textOf(word.slice(1, -1)) })
    else if (/^[^\s;]/.test(word)) add({ kind: 'atom', value: word })
  }
  if (open.length > 0) throw new Error(`The "(" at ${open.at(-1)?.start} is not closed.`)
  return found
}

function endOfComment(source: string, from: number): number {
  const mark = /\(;|;\)/g
  mark.lastIndex = from
  let depth = 1
  for (let match = mark.exec(source); match !== null; match = mark.exec(source)) {
    depth += match[0] === '(;' ? 1 : -1
    if (depth === 0) return mark.lastIndex
  }
  throw new Error(`The comment at ${from} is not closed.`)
}

const piece = /\\(?:u\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2})|(.))|[^\\]+/gs

/** Escapes of two digits are bytes of UTF-8. */
function textOf(text: string): string {
  const encoded = text.replace(piece, (plain, point, byte, letter) => {
    if (byte !== undefined) return `%${byte}`
    if (point !== undefined) return encodeURIComponent(String.fromCodePoint(Number.parseInt(point, 16)))
    if (letter !== undefined) return encodeURIComponent(escaped.get(letter) ?? letter)
    return encodeURIComponent(plain)
  })
  return decodeURIComponent(encoded)
}

const escaped = new Map([
  ['t', '\t'],
  ['n', '\n'],
  ['r', '\r'],
])
