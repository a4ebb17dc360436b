const open = '<think>'
const close = '</think>'

/** White space before the tag that is held back. A reply with more begins with text. */
const maxBlanks = 64

/**
 * Takes the thoughts out of a text that comes in pieces. Many models write them at the beginning, between `<think>` and
 * `</think>`, and not every server tells them from the reply. Tags behind the first text are text: a reply may be about them.
 */
export class ThinkTags {
  #place: 'start' | 'thoughts' | 'text' = 'start'
  /** The end of the text so far, which may be a part of a tag. */
  #held = ''
  #hasThought = false

  /** Adds a piece, and returns the text of the reply that is known after it. */
  add(piece: string): string {
    if (this.#place === 'text') return piece
    this.#held += piece
    for (;;) {
      if (this.#place === 'thoughts') {
        const end = this.#held.indexOf(close)
        if (end < 0) {
          this.#held = this.#held.slice(1 - close.length)
          return ''
        }
        this.#held = this.#held.slice(end + close.length)
        this.#place = 'start'
      }
      const text = this.#held.trimStart()
      if (this.#hasThought) this.#held = text
      if (this.#held.length - text.length > maxBlanks) return this.end()
      if (!text.startsWith(open)) return open.startsWith(text) ? '' : this.end()
      this.#held = text.slice(open.length)
      this.#place = 'thoughts'
      this.#hasThought = true
    }
  }

  /** Returns the text that was held back. Later pieces are text. */
  end(): string {
    const held = this.#place === 'thoughts' ? '' : this.#held
    this.#place = 'text'
    this.#held = ''
    return held
  }
}
