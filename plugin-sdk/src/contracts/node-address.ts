import type { FastifyRequest } from 'fastify'
import { defineRegistry, defineService } from '../service.ts'

/** Knows the names under which clients may reach the node. */
export interface NodeAddress {
  /**
   * Returns the origin by which a request came. A node has several: those of `server.publicUrl` and of `PublicOrigins`, the
   * names in `server.hostnames`, and at home the loopback addresses and `server.host`. A request through a proxy, or over a
   * connection of the service `Connections`, cannot come by the names for home. Build links and messages to be signed from
   * this origin, and never from the bare Host, which a client can forge.
   *
   * @throws NodekeepError VALIDATION_ERROR if the Host is not a name of the node
   */
  originOf(request: Pick<FastifyRequest, 'protocol' | 'host' | 'headers' | 'ips' | 'raw'>): URL
  /** Returns the address of the node's port on this machine; `null` before the node listens. */
  local(): URL | null
  /** Returns the origins by which clients from outside reach the node: those of `server.publicUrl`, then those of `PublicOrigins`. */
  publicOrigins(): string[]
}

/** The kernel's service for the node's own address. */
export const NodeAddress = defineService<NodeAddress>('node-address', 1)

/**
 * Origins such as `https://me.example.org` under which clients reach the node while the entry exists, besides those of the
 * configuration. A plugin that forwards clients to the node adds its address here.
 */
export const PublicOrigins = defineRegistry<string>('public-origins', 1, (origin) => {
  const url = typeof origin === 'string' ? URL.parse(origin) : null
  const isWeb = url !== null && /^https?:$/.test(url.protocol)
  return isWeb ? null : 'is no http or https address such as "https://me.example.org"'
})
