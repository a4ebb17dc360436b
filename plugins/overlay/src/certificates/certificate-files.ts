import { stat } from 'node:fs/promises'
import type { Log } from '@nodekeep/plugin-sdk'
import { type CertificateHealth, type CertificateSource, healthy } from './certificate-source.ts'
import { readPem } from './read-pem.ts'
import { type ServerCertificate, serverCertificate } from './server-certificate.ts'

interface FilesParts {
  /** Absolute paths. */
  readonly cert: string
  readonly key: string
  readonly log: Log
  /** Milliseconds between two looks at the files. */
  readonly pollMs: number
}

/**
 * A certificate and its key in two PEM files, which are read again when they change. They are polled, since that also finds links
 * that lead to other files, and works on every file system.
 */
export class CertificateFiles implements CertificateSource {
  readonly #parts: FilesParts
  readonly #timer: NodeJS.Timeout
  #certificate: ServerCertificate | null = null
  /** The reason why the newest files are not in use. */
  #problem: string | null = null
  /** The states of the files at the last look, and when they were last read. */
  #seen: string | null = null
  #read: string | null = null
  #looking: Promise<void> | null = null

  static async open(parts: FilesParts): Promise<CertificateFiles> {
    const files = new CertificateFiles(parts)
    await files.#load(await files.#state())
    return files
  }

  private constructor(parts: FilesParts) {
    this.#parts = parts
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null
      })
    }, parts.pollMs).unref()
  }

  find(name: string | null) {
    if (this.#certificate === null || (name !== null && !this.#certificate.covers(name))) return undefined
    return this.#certificate.context
  }

  findChallenge(): undefined {}

  want(): void {}

  health(): CertificateHealth {
    const { cert } = this.#parts
    if (this.#certificate === null) {
      return { ok: false, state: 'certificate-missing', message: this.#problem }
    }
    if (this.#problem !== null) return { ok: false, state: 'certificate-outdated', message: this.#problem }
    if (!isExpired(this.#certificate)) return healthy
    const date = new Date(this.#certificate.validTo).toISOString()
    return {
      ok: false,
      state: 'certificate-expired',
      message: `The certificate in ${cert} expired on ${date}.`,
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }

  /** Reads changed files when they stood still from one look to the next: a program may replace both, one after the other. */
  async #look(): Promise<void> {
    const state = await this.#state()
    if (state === this.#seen && state !== this.#read) await this.#load(state)
    this.#seen = state
  }

  async #state(): Promise<string> {
    const { cert, key } = this.#parts
    const states = [cert, key].map(async (file) => {
      try {
        const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
        return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
      } catch (error) {
        return (error as NodeJS.ErrnoException).code
      }
    })
    return (await Promise.all(states)).join(', ')
  }

  async #load(state: string): Promise<void> {
    const { cert, key, log } = this.#parts
    this.#read = state
    try {
      const certificate = serverCertificate({ cert: await readPem(cert), key: await readPem(key) })
      if (isExpired(certificate) && this.#certificate !== null && !isExpired(this.#certificate)) {
        throw new Error(`It expired on ${new Date(certificate.validTo).toISOString()}.`)
      }
      this.#certificate = certificate
      this.#problem = null
      log.info({ cert, validTo: new Date(certificate.validTo) }, 'The certificate was read.')
    } catch (error) {
      const kept = this.#certificate === null ? '' : ' The former one stays in use.'
      this.#problem = `The certificate in ${cert} with the key in ${key} cannot be used.${kept} ${(error as Error).message}`
      log.warn(this.#problem)
    }
  }
}

function isExpired({ validTo }: ServerCertificate): boolean {
  return validTo <= Date.now()
}
