/** Pieces that are kept before they are joined. A piece takes about 16 bytes beside its text. */
const mostPieces = 1024

/** A text that arrives in pieces. It takes about as much memory as the whole text, even if the pieces are small. */
export class GatheredText {
  #text = ''
  #pieces: string[] = []

  add(piece: string): void {
    this.#pieces.push(piece)
    if (this.#pieces.length >= mostPieces) this.#join()
  }

  /** Returns the text so far. */
  toString(): string {
    this.#join()
    return this.#text
  }

  #join(): void {
    this.#text += this.#pieces.join('')
    this.#pieces = []
  }
}
