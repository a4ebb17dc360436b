import { readFileSync, unwatchFile, watchFile } from 'node:fs'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Log } from '@nodekeep/plugin-sdk'

/** Milliseconds between two looks at the files. */
const pollMs = 60_000

/** The certificate of the gateway, from two PEM files. It is read again when one of them changes. */
export class GatewayCertificate {
  readonly #files: { readonly cert: string; readonly key: string }
  readonly #log: Log
  readonly #changed = () => this.#reload()
  #secureContext: SecureContext

  /** @throws Error with a sentence for people */
  constructor(files: { readonly cert: string; readonly key: string }, log: Log) {
    this.#files = files
    this.#log = log
    this.#secureContext = this.#read()
    for (const file of [files.cert, files.key])
      watchFile(file, { interval: pollMs, persistent: false }, this.#changed)
  }

  get secureContext(): SecureContext {
    return this.#secureContext
  }

  close(): void {
    for (const file of [this.#files.cert, this.#files.key]) unwatchFile(file, this.#changed)
  }

  #reload(): void {
    try {
      this.#secureContext = this.#read()
      this.#log.info('The certificate of the gateway was read again.')
    } catch (err) {
      this.#log.warn(
        { err },
        'The certificate of the gateway has changed and cannot be read. The one before stays in use.',
      )
    }
  }

  #read(): SecureContext {
    const { cert, key } = this.#files
    try {
      return createSecureContext({ cert: readFileSync(cert), key: readFileSync(key), minVersion: 'TLSv1.2' })
    } catch (cause) {
      throw new Error(`The certificate in "gateway.tls" cannot be used: ${(cause as Error).message}`, {
        cause,
      })
    }
  }
}
