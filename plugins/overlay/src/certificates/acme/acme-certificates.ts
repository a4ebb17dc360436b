import type { SecureContext } from 'node:tls'
import { type Log, messageOf, type StateStore } from '@nodekeep/plugin-sdk'
import { readPem, serverCertificate } from '@nodekeep/plugin-sdk/server-tls'
import { type CertificateHealth, type CertificateSource, healthy } from '../certificate-source.ts'
import { CertifiedName } from './certified-name.ts'
import { OrderFailure, orderCertificate } from './order-certificate.ts'
import { hourMs } from './order-times.ts'
import type { Issued } from './protocol.ts'
import { type StoredName, StoredNames } from './stored-names.ts'

interface AcmeOptions {
  readonly directory: string
  /** The path of a PEM file; `null` for the roots that Node trusts. */
  readonly ca: string | null
  readonly email: string | null
  readonly renewBeforeDays: number
  /** Milliseconds until the next order, after the first one that failed. */
  readonly retryMs: number
}

/** Most orders of all names that begin within an hour. */
const ordersPerHour = 10

/** Most names that get a certificate. */
const maxNames = 20

/** A name that an authority may certify: at least two labels of letters, digits and dashes, the last one with a letter first. */
const domainName = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Certificates from an authority by ACME (RFC 8555), one for each name. The node proves a name by the challenge `tls-alpn-01`
 * (RFC 8737). One order runs at a time.
 */
export class AcmeCertificates implements CertificateSource {
  readonly #log: Log
  readonly #options: AcmeOptions
  readonly #storedNames: StoredNames
  readonly #names = new Map<string, CertifiedName>()
  readonly #challenges = new Map<string, SecureContext>()
  readonly #stopped = new AbortController()
  #wanted: readonly CertifiedName[] = []
  #running: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined

  static async open(state: StateStore, log: Log, options: AcmeOptions): Promise<AcmeCertificates> {
    const certificates = new AcmeCertificates(state, log, options)
    for (const stored of await certificates.#storedNames.all()) certificates.#add(stored)
    return certificates
  }

  private constructor(state: StateStore, log: Log, options: AcmeOptions) {
    this.#log = log
    this.#options = options
    this.#storedNames = new StoredNames(state, options.directory)
  }

  find(name: string | null): SecureContext | undefined {
    const known =
      name === null ? this.#wanted.find(({ certificate }) => certificate !== null) : this.#names.get(name)
    return known?.certificate?.context
  }

  findChallenge(name: string): SecureContext | undefined {
    return this.#challenges.get(name)
  }

  want(names: readonly string[]): void {
    const certifiable = names.filter((name) => domainName.test(name)).slice(0, maxNames)
    // The names come from outside. Only those that an order was begun for are kept: their times limit the next orders.
    for (const [name, { stored }] of this.#names) {
      if (stored.orderedAt === 0 && !certifiable.includes(name)) this.#names.delete(name)
    }
    this.#wanted = certifiable.map((name) => this.#names.get(name) ?? this.#add(this.#unknown(name)))
    this.#orderWhatIsDue()
  }

  health(): CertificateHealth {
    return this.#wanted.map((name) => name.health()).find(({ ok }) => !ok) ?? healthy
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    clearTimeout(this.#timer)
    await this.#running
  }

  #unknown(name: string): StoredName {
    const { directory } = this.#options
    return { directory, name, pair: null, orderedAt: 0, failures: 0, reason: null, notBefore: 0 }
  }

  #add(stored: StoredName): CertifiedName {
    const { renewBeforeDays } = this.#options
    let name: CertifiedName
    try {
      name = new CertifiedName(stored, renewBeforeDays)
    } catch (err) {
      this.#log.warn(
        { err },
        `The stored certificate for ${stored.name} cannot be used. Another one is ordered.`,
      )
      name = new CertifiedName({ ...stored, pair: null }, renewBeforeDays)
    }
    this.#names.set(name.name, name)
    return name
  }

  /** Begins the order that is due, or waits for it: at most an hour, since the clock may be set meanwhile. */
  #orderWhatIsDue(): void {
    clearTimeout(this.#timer)
    const [first] = this.#wanted.toSorted((a, b) => a.due - b.due)
    if (first === undefined || this.#running !== null || this.#stopped.signal.aborted) return
    const waitMs = Math.max(first.due, this.#nextFreePlace()) - Date.now()
    if (waitMs > 0) {
      this.#timer = setTimeout(() => this.#orderWhatIsDue(), Math.min(waitMs, hourMs)).unref()
      return
    }
    this.#running = this.#order(first).finally(() => {
      this.#running = null
      this.#orderWhatIsDue()
    })
  }

  /** Returns the time when {@link ordersPerHour} admits another order. */
  #nextFreePlace(): number {
    const now = Date.now()
    const times = [...this.#names.values()]
      .map(({ stored }) => stored.orderedAt)
      .filter((time) => time <= now)
    return (times.sort((a, b) => b - a)[ordersPerHour - 1] ?? Number.NEGATIVE_INFINITY) + hourMs
  }

  async #order(name: CertifiedName): Promise<void> {
    const { retryMs, directory } = this.#options
    this.#log.info(`A certificate for ${name.name} is being obtained from ${new URL(directory).host}.`)
    name.begin(retryMs)
    try {
      // Before the order, so that the pause holds even if the order brings the process down.
      await this.#storedNames.store(name.stored)
      const { pair, account } = await this.#obtain(name.name)
      const { fingerprint, validTo } = name.succeed(pair)
      const facts = { account, sha256: fingerprint, validTo: new Date(validTo) }
      this.#log.info(facts, `The certificate for ${name.name} was obtained.`)
    } catch (error) {
      if (this.#stopped.signal.aborted) return
      const isKnown = error instanceof OrderFailure
      name.fail(isKnown ? error.problem : { reason: messageOf(error), retryAfterMs: 0 })
      const sentence = `The certificate for ${name.name} could not be obtained. ${name.failure}`
      if (isKnown) this.#log.warn(sentence)
      else this.#log.error({ err: error }, sentence)
    }
    await this.#storedNames.store(name.stored).catch((err: unknown) => {
      this.#log.error(
        { err },
        `The certificate for ${name.name} could not be stored. The next start orders another one.`,
      )
    })
  }

  async #obtain(name: string): Promise<Issued> {
    const { directory, ca, email } = this.#options
    try {
      return await orderCertificate(
        {
          name,
          directory,
          ca: ca === null ? null : await readPem(ca),
          email,
          accountKey: await this.#storedNames.accountKey(),
        },
        (pair) => this.#challenges.set(name, serverCertificate(pair).context),
        this.#stopped.signal,
      )
    } catch (error) {
      // The pauses after failures bound how often the node registers another one.
      if (error instanceof OrderFailure && error.isAccountClosed) await this.#storedNames.forgetAccount()
      throw error
    } finally {
      this.#challenges.delete(name)
    }
  }
}
