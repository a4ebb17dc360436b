import { stat } from 'node:fs/promises'
import type { Log } from '../context.ts'
import { readPem } from './read-pem.ts'
import { type ServerCertificate, serverCertificate } from './server-certificate.ts'

/** The files of a certificate. */
export interface CertificateFilesOptions {
  /** The absolute path of the certificate and the chain of its issuers. */
  readonly cert: string
  /** The absolute path of the private key. */
  readonly key: string
  readonly log: Log
  /** Milliseconds between two checks of the files. */
  readonly pollMs?: number
}

/**
 * A certificate and its key in two PEM files, which are read again when they change. They are polled, since that also finds links
 * that lead to other files, and works on every file system. New files that cannot be used leave the former certificate in use.
 */
export class CertificateFiles {
  readonly #options: CertificateFilesOptions
  readonly #timer: NodeJS.Timeout
  #current: ServerCertificate | null = null
  #problem: string | null = null
  /** The states of the files at the last check, and when they were last read. */
  #seen: string | null = null
  #read: string | null = null
  #checking: Promise<void> | null = null

  /** Reads the files. It never rejects: {@link problem} tells why they are not in use. */
  static async open(options: CertificateFilesOptions): Promise<CertificateFiles> {
    const files = new CertificateFiles(options)
    await files.#load(await files.#state())
    return files
  }

  private constructor(options: CertificateFilesOptions) {
    this.#options = options
    this.#timer = setInterval(() => {
      this.#checking ??= this.#check().finally(() => {
        this.#checking = null
      })
    }, options.pollMs ?? 5000).unref()
  }

  /** The certificate in use; `null` if the files could never be used. */
  get current(): ServerCertificate | null {
    return this.#current
  }

  /** Why the newest files are not in use, in some sentences; `null` if they are. */
  get problem(): string | null {
    return this.#problem
  }

  /** Ends the checks. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#checking
  }

  /** Reads changed files when they stood still from one check to the next: a program may replace both, one after the other. */
  async #check(): Promise<void> {
    const state = await this.#state()
    if (state === this.#seen && state !== this.#read) await this.#load(state)
    this.#seen = state
  }

  async #state(): Promise<string> {
    const { cert, key } = this.#options
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
    const { cert, key, log } = this.#options
    this.#read = state
    try {
      const certificate = serverCertificate({ cert: await readPem(cert), key: await readPem(key) })
      if (isExpired(certificate) && this.#current !== null && !isExpired(this.#current)) {
        throw new Error(`It expired on ${new Date(certificate.validTo).toISOString()}.`)
      }
      this.#current = certificate
      this.#problem = null
      log.info({ cert, validTo: new Date(certificate.validTo) }, 'The certificate was read.')
    } catch (error) {
      const kept = this.#current === null ? '' : ' The former one stays in use.'
      this.#problem = `The certificate in ${cert} with the key in ${key} cannot be used.${kept} ${(error as Error).message}`
      log.warn(this.#problem)
    }
  }
}

function isExpired({ validTo }: ServerCertificate): boolean {
  return validTo <= Date.now()
}
