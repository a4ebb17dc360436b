import type { FastifyRequest } from 'fastify'
import { defineService } from '../service.ts'

/** Knows the names under which clients may reach the node. */
export interface NodeAddress {
  /**
   * Returns the origin under which the client of a request reaches the node: `server.publicUrl` if it is set, otherwise
   * the request's scheme and Host, if the Host is a loopback address or one of `server.hostnames`. Build links and
   * messages to be signed from this origin, and never from the bare Host, which a client can forge.
   *
   * @throws NodekeepError VALIDATION_ERROR if the Host is not a name of the node
   */
  originOf(request: Pick<FastifyRequest, 'protocol' | 'host'>): URL
}

/** The kernel's service for the node's own address. */
export const Address = defineService<NodeAddress>('node-address', 1)
