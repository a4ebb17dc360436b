import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { FairSlots, NodekeepError } from '@nodekeep/plugin-sdk'
import type { PasswordHash, Share } from '../share.ts'

/** The cost of scrypt (RFC 7914): 32 MiB and about 0.1 s for each attempt. */
const cost = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }
const hashBytes = 32

/** Milliseconds for which attempts count. */
const windowMs = 15 * 60 * 1000

/** Wrong attempts of one address at one link within that time, and of all addresses. */
const mostOfAddress = 10
const mostOfLink = 200

/** Attempts that are counted. */
const mostCounted = 10_000

/** Seconds for which a browser need not ask for the password again. */
const cookieSeconds = 24 * 60 * 60

const derive = promisify<string, Uint8Array, number, typeof cost, Buffer>(scrypt)

interface Attempts {
  readonly until: number
  wrong: number
}

/** Checks passwords of links: one at a time for each address, off the main thread. */
export class Passwords {
  readonly #slots = new FairSlots({ most: 2, mostPerKey: 1 })
  readonly #attempts = new Map<string, Attempts>()

  async hashOf(password: string): Promise<PasswordHash> {
    const salt = randomBytes(16)
    return { salt, hash: await derive(password.normalize('NFC'), salt, hashBytes, cost) }
  }

  /**
   * Tells whether this is the password of a link.
   *
   * @param address the group of the guest's address
   * @throws NodekeepError TOO_MANY_REQUESTS after too many wrong ones
   */
  async isRight({ id, password }: Share, address: string, attempt: string): Promise<boolean> {
    if (password === null) return true
    const ofAddress = `${id} ${address}`
    // A refused attempt counts for neither: one address must not lock the link for all.
    this.#check(id, mostOfLink)
    this.#check(ofAddress, mostOfAddress)
    const taken = [id, ofAddress].map((key) => this.#take(key))
    const { salt, hash } = password
    const derived = await this.#slots.run(address, () =>
      derive(attempt.normalize('NFC'), salt, hashBytes, cost),
    )
    const isRight = timingSafeEqual(derived, hash)
    if (isRight) for (const attempts of taken) attempts.wrong -= 1
    return isRight
  }

  /** @throws NodekeepError TOO_MANY_REQUESTS */
  #check(key: string, most: number): void {
    const { until, wrong } = this.#attemptsOf(key)
    if (wrong < most) return
    const seconds = Math.ceil((until - Date.now()) / 1000)
    throw new NodekeepError('TOO_MANY_REQUESTS', 'Too many wrong passwords. Try again later.', {
      headers: { 'retry-after': `${seconds}` },
    })
  }

  #attemptsOf(key: string): Attempts {
    const known = this.#attempts.get(key)
    const now = Date.now()
    return known === undefined || known.until <= now ? { until: now + windowMs, wrong: 0 } : known
  }

  /** Counts an attempt as wrong, until it is known to be right: attempts at the same time count, too. */
  #take(key: string): Attempts {
    const attempts = this.#attemptsOf(key)
    attempts.wrong += 1
    this.#attempts.delete(key)
    this.#attempts.set(key, attempts)
    const [oldest] = this.#attempts.keys()
    if (this.#attempts.size > mostCounted && oldest !== undefined) this.#attempts.delete(oldest)
    return attempts
  }
}

/**
 * Makes the cookie of a guest who knew the password. It is for this link alone, and only while the link has this password: the key of its
 * proof is the hash of the password.
 */
export function cookieFor(share: Share, token: string, isEncrypted: boolean): string {
  const until = Math.floor(Date.now() / 1000) + cookieSeconds
  const attributes = `Path=/s/${token}; Max-Age=${cookieSeconds}; HttpOnly; SameSite=Lax`
  return `share=${until}.${proofOf(share, until)}; ${attributes}${isEncrypted ? '; Secure' : ''}`
}

/** Whether a guest need not be asked for the password. */
export function mayEnter(share: Share, cookies: string | undefined): boolean {
  if (share.password === null) return true
  const [, until = '', proof = ''] = /(?:^|; *)share=(\d{1,12})\.([\w-]{43})(?:;|$)/.exec(cookies ?? '') ?? []
  if (!(Number(until) * 1000 > Date.now())) return false
  return timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(share, Number(until))))
}

function proofOf({ id, password }: Share, until: number): string {
  return createHmac('sha256', password?.hash ?? '')
    .update(`${id} ${until}`)
    .digest('base64url')
}
