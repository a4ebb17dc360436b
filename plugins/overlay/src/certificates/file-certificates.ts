import type { CertificateFiles } from '@nodekeep/plugin-sdk/server-tls'
import { type CertificateHealth, type CertificateSource, healthy } from './certificate-source.ts'

/** The certificate in two files, for all names in it. */
export class FileCertificates implements CertificateSource {
  readonly #files: CertificateFiles

  constructor(files: CertificateFiles) {
    this.#files = files
  }

  find(name: string | null) {
    const { current } = this.#files
    return current === null || (name !== null && !current.covers(name)) ? undefined : current.context
  }

  findChallenge(): undefined {}

  want(): void {}

  health(): CertificateHealth {
    const { current, problem } = this.#files
    if (current === null) return { ok: false, state: 'certificate-missing', message: problem }
    if (problem !== null) return { ok: false, state: 'certificate-outdated', message: problem }
    if (current.validTo > Date.now()) return healthy
    const message = `The certificate in the files of "overlay.tls" expired on ${new Date(current.validTo).toISOString()}.`
    return { ok: false, state: 'certificate-expired', message }
  }

  close(): Promise<void> {
    return this.#files.close()
  }
}
