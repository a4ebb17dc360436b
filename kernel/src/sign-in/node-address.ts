import { BlockList, isIP, isIPv6 } from 'node:net'
import { type NodeAddress, NodekeepError } from '@nodekeep/plugin-sdk'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

export interface AddressConfiguration {
  readonly host: string
  readonly hostnames: readonly string[]
  readonly publicUrl?: string
}

/** Makes the service that tells a request's origin, and refuses names that do not belong to the node. */
export function createNodeAddress({ host, hostnames, publicUrl }: AddressConfiguration): NodeAddress {
  const names = new Set([host, ...hostnames].map(asInUrl))
  return {
    originOf(request) {
      if (publicUrl !== undefined) return new URL(publicUrl)
      const url = URL.parse(`${request.protocol}://${request.host}`)
      if (url === null || url.host !== request.host.toLowerCase()) throw unknownName(request.host)
      if (!isLoopback(url.hostname) && !names.has(url.hostname)) throw unknownName(url.hostname)
      return url
    },
  }
}

/** Returns the one spelling of a host that a URL uses. */
function asInUrl(name: string): string {
  return URL.parse(`http://${isIPv6(name) ? `[${name}]` : name}`)?.hostname ?? name.toLowerCase()
}

function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  const address = hostname.replace(/^\[|\]$/g, '')
  const version = isIP(address)
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

function unknownName(name: string): NodekeepError {
  return new NodekeepError(
    'VALIDATION_ERROR',
    `The node does not go by the name "${name.slice(0, 100)}". The owner can add it to "server.hostnames", or set "server.publicUrl".`,
  )
}
