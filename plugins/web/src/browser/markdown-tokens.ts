import { Lexer, type Token, type Tokens } from 'marked'

/** Longer texts are shown as they are. */
const longestText = 100_000

/** Longer paragraphs are shown as they are: the time for the marks in some grows with the square of their length. */
const longestParagraph = 10_000

/** Returns the blocks of a text in markdown: paragraphs, lists, code and others. */
export function tokensOf(text: string): Token[] {
  if (text.length <= longestText) {
    try {
      return new BoundedLexer({ gfm: true, breaks: true }).lex(text)
    } catch {
      // The lexer calls itself for each level, and a text may have too many.
    }
  }
  return [{ type: 'html', raw: text, text, block: true, pre: false } satisfies Tokens.HTML]
}

class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    if (text.length <= longestParagraph) return super.inlineTokens(text, tokens)
    tokens.push({ type: 'text', raw: text, text, escaped: false } satisfies Tokens.Text)
    return tokens
  }
}
