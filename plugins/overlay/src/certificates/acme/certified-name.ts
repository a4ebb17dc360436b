import {
  type CertificatePair,
  type ServerCertificate,
  serverCertificate,
} from '@nodekeep/plugin-sdk/server-tls'
import { type CertificateHealth, healthy } from '../certificate-source.ts'
import { longestPauseMs, longestRetryAfterMs, pauseAfter, renewalTime } from './order-times.ts'
import type { OrderProblem } from './protocol.ts'
import type { StoredName } from './stored-names.ts'

/** A name of the node, its certificate, and the times of its orders. All times are in milliseconds since 1970. */
export class CertifiedName {
  readonly name: string
  readonly #renewBeforeDays: number
  #stored: StoredName
  #certificate: ServerCertificate | null = null
  #isBeingOrdered = false

  /** @throws Error with a sentence if the stored certificate cannot be used */
  constructor(stored: StoredName, renewBeforeDays: number) {
    this.name = stored.name
    this.#stored = stored
    this.#renewBeforeDays = renewBeforeDays
    if (stored.pair !== null) this.#certificate = serverCertificate(stored.pair)
  }

  get stored(): StoredName {
    return this.#stored
  }

  get certificate(): ServerCertificate | null {
    return this.#certificate
  }

  /** Why the last order failed, and when the next one begins, in two sentences; `null` if it did not fail, or runs. */
  get failure(): string | null {
    const { reason, notBefore } = this.#stored
    if (reason === null || this.#isBeingOrdered) return null
    return `${reason} The next attempt is at ${dateOf(notBefore)}.`
  }

  /** When the next order is to begin. */
  get due(): number {
    const { orderedAt, notBefore } = this.#stored
    const now = Date.now()
    // The clock was wrong when an order was noted that lies ahead, or a time that lies so far ahead.
    const isWrong = orderedAt > now || notBefore > now + 2 * longestRetryAfterMs
    const pauseEnd = isWrong ? 0 : notBefore
    return this.#certificate === null ? pauseEnd : Math.max(pauseEnd, this.#renewal(this.#certificate))
  }

  /**
   * An order begins.
   *
   * @param retryMs the pause until the next order, if this is the first one that fails
   */
  begin(retryMs: number): void {
    this.#isBeingOrdered = true
    const orderedAt = Date.now()
    const failures = this.#stored.failures + 1
    const notBefore = orderedAt + pauseAfter(failures, retryMs)
    this.#stored = { ...this.#stored, orderedAt, failures, notBefore }
  }

  /** @throws Error with a sentence if the certificate cannot be used */
  succeed(pair: CertificatePair): ServerCertificate {
    const certificate = serverCertificate(pair)
    this.#certificate = certificate
    this.#stored = { ...this.#stored, pair, failures: 0, reason: null, notBefore: 0 }
    this.#isBeingOrdered = false
    if (this.#renewal(certificate) <= Date.now()) {
      // Without a long pause, a node whose clock is wrong would order one certificate after the other.
      const reason = `The new one is valid until ${dateOf(certificate.validTo)}. Check the clock of this machine.`
      this.fail({ reason, retryAfterMs: longestPauseMs })
    }
    return certificate
  }

  fail({ reason, retryAfterMs }: OrderProblem): void {
    const pauseEnd = Date.now() + Math.min(retryAfterMs, longestRetryAfterMs)
    this.#stored = { ...this.#stored, reason, notBefore: Math.max(this.#stored.notBefore, pauseEnd) }
    this.#isBeingOrdered = false
  }

  health(): CertificateHealth {
    const { name, failure } = this
    const certificate = this.#certificate
    if (certificate === null) {
      return failure === null
        ? ill('certificate-pending', `The certificate for ${name} is being obtained.`)
        : ill('certificate-failing', `The certificate for ${name} could not be obtained. ${failure}`)
    }
    const { validTo } = certificate
    if (validTo <= Date.now()) {
      const next = failure ?? 'It is being renewed.'
      return ill('certificate-expired', `The certificate for ${name} expired on ${dateOf(validTo)}. ${next}`)
    }
    const isLate = Date.now() > (this.#renewal(certificate) + validTo) / 2
    if (failure === null || !isLate) return healthy
    const message = `The certificate for ${name} expires on ${dateOf(validTo)} and could not be renewed. ${failure}`
    return ill('certificate-failing', message)
  }

  #renewal(certificate: ServerCertificate): number {
    return renewalTime(certificate, this.#renewBeforeDays)
  }
}

function ill(state: string, message: string): CertificateHealth {
  return { ok: false, state, message }
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString()
}
