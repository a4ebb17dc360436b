import { hash, randomInt, timingSafeEqual } from 'node:crypto'

/** Crockford's base 32: no letters that people take for digits. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * What proves that who signs in first may read what the node prints: `XXXX-XXXX-XXXX`, 60 random bits. It lives in
 * memory only; a node that is still unclaimed makes another one at its next start.
 */
export class ClaimCode {
  #code: string | null

  constructor() {
    const digits = Array.from({ length: 12 }, () => alphabet.charAt(randomInt(alphabet.length)))
    this.#code = [0, 4, 8].map((start) => digits.slice(start, start + 4).join('')).join('-')
  }

  /** The code, `null` once it was used. */
  get text(): string | null {
    return this.#code
  }

  /** Compares in constant time. Case, dashes and spaces don't matter. */
  matches(candidate: string): boolean {
    return this.#code !== null && timingSafeEqual(digest(this.#code), digest(candidate))
  }

  /** Makes it worthless. */
  use(): void {
    this.#code = null
  }
}

function digest(code: string): Buffer {
  return hash('sha256', code.toUpperCase().replaceAll(/[\s-]/g, ''), 'buffer')
}
