import type { FastifyRequest } from 'fastify'
import { defineService } from '../service.ts'

/** Knows under which names the node may be called. */
export interface NodeAddress {
  /**
   * The origin under which the client of a request reaches the node: `server.publicUrl` where that is set, otherwise
   * the request's scheme and Host, if that names a loopback address or one of `server.hostnames`. What a wallet signs
   * for, or a link leads to, must be built from this and never from the bare Host, which a client can make up.
   *
   * @throws NodekeepError VALIDATION_ERROR when the Host is none of the node's names
   */
  originOf(request: Pick<FastifyRequest, 'protocol' | 'host'>): URL
}

/** The kernel's knowledge of the node's own address. */
export const Address = defineService<NodeAddress>('node-address', 1)
