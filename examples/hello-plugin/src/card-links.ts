import { createHmac, timingSafeEqual } from 'node:crypto'

/** Creates links that cannot be guessed: `<id>.<HMAC-SHA-256 of the id, base64url>`. */
export class CardLinks {
  readonly #key: string

  constructor(key: string) {
    this.#key = key
  }

  of(id: string): string {
    return `${id}.${this.#signature(id).toString('base64url')}`
  }

  /** Returns the id of the card, or `null` when the link was not created with our key. */
  read(link: string): string | null {
    const [id = '', signature = ''] = link.split('.')
    const given = Buffer.from(signature, 'base64url')
    const right = this.#signature(id)
    return given.length === right.length && timingSafeEqual(given, right) ? id : null
  }

  #signature(id: string): Buffer {
    return createHmac('sha256', this.#key).update(id).digest()
  }
}
