/** Pieces that are kept apart. Each takes some 16 bytes beside its text, which may be a single letter. */
const mostPieces = 1024

/** A text that comes in pieces, kept in about the memory that it takes as a whole, however small the pieces are. */
export class GatheredText {
  #text = ''
  #pieces: string[] = []

  add(piece: string): void {
    this.#pieces.push(piece)
    if (this.#pieces.length >= mostPieces) this.#join()
  }

  /** All that has come so far. */
  toString(): string {
    this.#join()
    return this.#text
  }

  #join(): void {
    this.#text += this.#pieces.join('')
    this.#pieces = []
  }
}
