import { BlockList, isIP } from 'node:net'
import { type NodeAddress, NodekeepError } from '@nodekeep/plugin-sdk'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

export interface AddressConfiguration {
  readonly host: string
  readonly hostnames: readonly string[]
  readonly publicUrl?: string
}

/** Tells under which origin a client reaches the node, and refuses names that are none of the node's. */
export function createNodeAddress({ host, hostnames, publicUrl }: AddressConfiguration): NodeAddress {
  const names = new Set([host, ...hostnames].map((name) => name.toLowerCase()))
  return {
    originOf(request) {
      if (publicUrl !== undefined) return new URL(publicUrl)
      const url = URL.parse(`${request.protocol}://${request.host}`)
      if (url === null || url.host !== request.host.toLowerCase()) throw unknownName(request.host)
      const name = url.hostname.replace(/^\[|\]$/g, '')
      if (!isLoopback(name) && !names.has(name)) throw unknownName(name)
      return url
    },
  }
}

function isLoopback(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost')) return true
  const version = isIP(name)
  return version !== 0 && loopback.check(name, version === 4 ? 'ipv4' : 'ipv6')
}

function unknownName(name: string): NodekeepError {
  return new NodekeepError(
    'VALIDATION_ERROR',
    `The node does not go by the name "${name.slice(0, 100)}". The owner can add it to "server.hostnames", or set "server.publicUrl".`,
  )
}
