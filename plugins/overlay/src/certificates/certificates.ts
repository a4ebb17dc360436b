import type { ClientConnection, Log, OverlayConnection, StateStore } from '@nodekeep/plugin-sdk'
import { CertificateFiles } from '@nodekeep/plugin-sdk/server-tls'
import { AcmeCertificates } from './acme/acme-certificates.ts'
import { type CertificateHealth, type CertificateSource, healthy } from './certificate-source.ts'
import { endTls } from './end-tls.ts'
import { FileCertificates } from './file-certificates.ts'
import type { AcmeSettings, FileSettings } from './settings.ts'

interface CertificateOptions {
  readonly tls?: FileSettings | undefined
  readonly acme?: AcmeSettings | undefined
  /** Keeps the account at the authority, and the certificates. */
  readonly state: StateStore
  readonly log: Log
  readonly times?: Partial<CertificateTimes>
}

/** All in milliseconds. */
interface CertificateTimes {
  /** The time for a handshake. */
  readonly handshakeMs: number
  /** The time between two checks of the files. */
  readonly pollMs: number
  /** The pause after the first order that failed. */
  readonly retryMs: number
}

const usualTimes: CertificateTimes = { handshakeMs: 10_000, pollMs: 5_000, retryMs: 2 * 60_000 }

/** TLS on the node, for the names by which clients reach it. */
export interface Certificates {
  /** Whether the node ends TLS itself. */
  readonly endsTls: boolean
  /**
   * Sets the names by which clients reach the node now, in lower case. By ACME, a certificate is obtained and renewed for each
   * name in this list, so a connection to port 443 of the name must reach `accept`. Without a network, pass an empty list.
   */
  names(list: readonly string[]): void
  /**
   * Does the handshake with a client, and owns its connection meanwhile. Resolves with the connection within TLS, or with `null`
   * if there is nothing to serve: the handshake failed, or it was an authority's. It never rejects.
   */
  accept(connection: OverlayConnection): Promise<ClientConnection | null>
  health(): CertificateHealth
  /** Ends orders, and handshakes that are not complete. */
  close(): Promise<void>
}

/** @throws Error with a sentence for people if the settings contradict each other */
export async function createCertificates(options: CertificateOptions): Promise<Certificates> {
  const { handshakeMs, ...times } = { ...usualTimes, ...options.times }
  const source = await openSource(options, times)
  const closed = new AbortController()
  return {
    endsTls: source !== null,
    names: (list) => source?.want(list),
    async accept(connection) {
      if (source !== null) return endTls(connection, source, handshakeMs, closed.signal)
      connection.socket.destroy()
      return null
    },
    health: () => source?.health() ?? healthy,
    async close() {
      closed.abort()
      await source?.close()
    },
  }
}

async function openSource(
  { tls, acme, state, log }: CertificateOptions,
  { pollMs, retryMs }: Pick<CertificateTimes, 'pollMs' | 'retryMs'>,
): Promise<CertificateSource | null> {
  if (tls !== undefined && acme !== undefined) {
    throw new Error('The certificate comes from files or by ACME: set "tls" or "acme", but not both.')
  }
  if (tls !== undefined) {
    return new FileCertificates(await CertificateFiles.open({ ...tls, log, pollMs }))
  }
  if (acme === undefined) return null
  const { directory, email = null, renewBeforeDays, ca = null } = acme
  return AcmeCertificates.open(state, log, { directory, ca, email, renewBeforeDays, retryMs })
}
