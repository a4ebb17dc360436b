import { hash } from 'node:crypto'
import { newTypedCode, readTypedCode } from '@nodekeep/plugin-sdk'

/** Unused codes that a user may have. Beyond it, the oldest one ends. */
const codesPerUser = 10

/** A new code. */
interface NewCode {
  readonly code: string
  readonly expires: Date
  /** Seconds. */
  readonly expiresIn: number
}

interface Stored {
  readonly userUuid: string
  /** As `performance.now()`: a clock that is set back must not keep a code alive. */
  readonly end: number
}

/** The codes that were made and not used yet. They are in memory only, and as SHA-256. */
export class SignInCodes {
  readonly #ttlMs: number
  /** By the SHA-256 of the code. The oldest code is first. */
  readonly #unused = new Map<string, Stored>()

  /** @param ttlMs milliseconds for which a code can be used */
  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs
  }

  make(userUuid: string): NewCode {
    const now = performance.now()
    for (const [key, { end }] of this.#unused) if (end <= now) this.#unused.delete(key)
    const own = [...this.#unused].filter(([, stored]) => stored.userUuid === userUuid)
    for (const [key] of own.slice(0, Math.max(0, own.length + 1 - codesPerUser))) this.#unused.delete(key)
    const code = newTypedCode()
    this.#unused.set(keyOf(code), { userUuid, end: now + this.#ttlMs })
    return {
      code,
      expires: new Date(Date.now() + this.#ttlMs),
      expiresIn: Math.floor(this.#ttlMs / 1000),
    }
  }

  /** Returns the UUID of the user who made a code; `null` if it is wrong, used or too old. */
  userOf(code: string): string | null {
    const stored = this.#unused.get(keyOf(code))
    return stored !== undefined && stored.end > performance.now() ? stored.userUuid : null
  }

  /** Uses a code. Of several calls with the same code, exactly one returns `true`. */
  use(code: string): boolean {
    return this.userOf(code) !== null && this.#unused.delete(keyOf(code))
  }

  /** Ends all codes of a user. */
  endOf(userUuid: string): void {
    for (const [key, stored] of this.#unused) if (stored.userUuid === userUuid) this.#unused.delete(key)
  }
}

function keyOf(code: string): string {
  return hash('sha256', readTypedCode(code))
}
