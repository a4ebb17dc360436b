import { isIPv6 } from 'node:net'
import type { NodeProcess } from '../tunnels/node-session.ts'
import type { Names } from './names.ts'
import type { OwnAddress } from './own-address.ts'

/** The addresses of nodes at this gateway. */
export class Addresses {
  readonly domain: string | null
  readonly #names: Names
  readonly #httpsPort: () => number

  /**
   * @param domain the domain whose subdomains are names of nodes
   * @param httpsPort the port of https as clients see it
   */
  constructor(domain: string | null, names: Names, httpsPort: () => number) {
    this.domain = domain
    this.#names = names
    this.#httpsPort = httpsPort
  }

  /** Returns the node to whose tunnel a host name points, `null` if there is none. */
  ownerOf(host: string): string | null {
    const label = this.#labelOf(host)
    return label === null ? null : this.#names.ownerOf(label)
  }

  /** Returns the address on the internet to which a host name points, `null` if there is none. */
  ownAddressOf(host: string): OwnAddress | null {
    const label = this.#labelOf(host)
    return label === null ? null : this.#names.addressOf(label)
  }

  /** Whether a host name points to a node. */
  isTaken(host: string): boolean {
    return this.ownerOf(host) !== null || this.ownAddressOf(host) !== null
  }

  /** Returns the https URL of a host name, without a path. */
  httpsUrl(host: string): string {
    const port = this.#httpsPort()
    return `https://${host}${port === 443 ? '' : `:${port}`}`
  }

  /** Returns the URLs of a node: those of its names first. */
  urlsOf({ nodeId, host }: NodeProcess, port: number): string[] {
    const { domain } = this
    const named =
      domain === null ? [] : this.#names.labelsOf(nodeId).map((label) => this.httpsUrl(`${label}.${domain}`))
    return [...named.slice(0, 9), ...(port === 0 ? [] : [portUrl(host, port)])]
  }

  #labelOf(host: string): string | null {
    const suffix = `.${this.domain}`
    if (this.domain === null || !host.endsWith(suffix)) return null
    const label = host.slice(0, -suffix.length)
    return label === '' || label.includes('.') ? null : label
  }
}

/** Returns the URL of an allocated port, without a path. */
export function portUrl(host: string, port: number): string {
  return new URL(`http://${isIPv6(host) ? `[${host}]` : host}:${port}`).origin
}
