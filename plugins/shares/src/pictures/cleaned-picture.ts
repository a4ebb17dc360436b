import { RefusedPicture } from './refused-picture.ts'

/**
 * The version of the rules by which pictures are cleaned. It is a part of the entity tag of a cleaned picture: other rules make other bytes
 * of the same file.
 */
export const cleaningVersion = 1

/** A part of a cleaned picture: bytes of the file, from `start` up to and without `end`, or bytes that are not in the file. */
export type Piece = { readonly start: number; readonly end: number } | Uint8Array

/** The way in which a cleaned picture is made of its file. */
export interface CleanedPicture {
  /** Bytes of what goes out. */
  readonly length: number
  readonly pieces: readonly Piece[]
}

/** Most pieces of a picture. Real ones have fewer than ten; each one costs a read. */
const mostPieces = 1000

/** A cleaned picture that is being planned, from its first piece to its last one. */
export class PictureDraft {
  readonly #pieces: Piece[] = []
  #length = 0
  /** The bytes of the file that the last piece has, if it has some. */
  #last: { start: number; end: number } | null = null

  /** Bytes of all pieces. */
  get length(): number {
    return this.#length
  }

  /** Appends bytes of the file, from `start` up to and without `end`. */
  keep(start: number, end: number): void {
    if (start === end) return
    this.#length += end - start
    if (this.#last?.end === start) this.#last.end = end
    else {
      this.#last = { start, end }
      this.#add(this.#last)
    }
  }

  /** Appends bytes that are not in the file. They may still change while the picture is planned. */
  insert(bytes: Uint8Array): void {
    this.#length += bytes.length
    this.#last = null
    this.#add(bytes)
  }

  finish(): CleanedPicture {
    return { length: this.#length, pieces: this.#pieces }
  }

  #add(piece: Piece): void {
    if (this.#pieces.length === mostPieces) throw new RefusedPicture('broken')
    this.#pieces.push(piece)
  }
}
