import { Lexer, type Token, Tokenizer, type Tokens } from 'marked'

/** Longer texts are shown as they are. */
const longestText = 100_000

/** Longer paragraphs are shown as they are: the time for the marks in some grows with the square of their length. */
const longestParagraph = 10_000

/** Paragraphs with more marks are shown as they are: each mark may be compared with all others. */
const mostMarks = 500

/** The reader fills up each row of a table to the cells of the first one. A table that is written out has fewer cells than characters. */
const mostCells = 10_000

/** A line that begins with very many marks of lists and quotes: the reader reads the rest of it anew for each. */
const deepLine = /^(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])){100}/m

/** Returns the blocks of a text in markdown: paragraphs, lists, code and others. */
export function tokensOf(text: string): Token[] {
  if (text.length <= longestText && !deepLine.test(text)) {
    try {
      return new BoundedLexer({ gfm: true, breaks: true, tokenizer: new BoundedTokenizer() }).lex(text)
    } catch {
      // The lexer calls itself for each level, and a text may have too many.
    }
  }
  return [{ type: 'html', raw: text, text, block: true, pre: false } satisfies Tokens.HTML]
}

class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    const marks =
      text.length <= longestParagraph ? (text.match(/[*_~]/g)?.length ?? 0) : Number.POSITIVE_INFINITY
    if (marks <= mostMarks) return super.inlineTokens(text, tokens)
    tokens.push({ type: 'text', raw: text, text, escaped: false } satisfies Tokens.Text)
    return tokens
  }
}

class BoundedTokenizer extends Tokenizer {
  override table(text: string): Tokens.Table | undefined {
    const [all = '', , marks = '', rows = ''] = this.rules.block.table.exec(text) ?? []
    const cells = marks.split('|').length * (rows.split('\n').length + 1)
    return cells > Math.max(mostCells, all.length) ? undefined : super.table(text)
  }
}
