import type { NodeAddress, RegistryReader } from '@nodekeep/plugin-sdk'
import { isLoopback } from '@nodekeep/plugin-sdk/loopback'
import type { FastifyRequest } from 'fastify'

/** From where the address of a link works. */
interface Reach {
  readonly origin: string
  /** `everywhere`, in the `network` of the node, or on its `machine` alone. */
  readonly reach: 'everywhere' | 'network' | 'machine'
  /** A sentence for the maker if others cannot reach the address. */
  readonly note: string | null
}

/**
 * Tells by which address others reach the node: that of an overlay network, otherwise the first one of `server.publicUrl`, otherwise the one by
 * which the maker came.
 *
 * @param added the origins that plugins have added, such as that of an overlay
 * @throws NodekeepError VALIDATION_ERROR if the request came by no name of the node
 */
export function reachOf(address: NodeAddress, added: RegistryReader<string>, request: FastifyRequest): Reach {
  const overlay = [...added]
    .map(([, origin]) => URL.parse(origin)?.origin)
    .find((origin) => origin?.startsWith('https:'))
  const [configured] = address.publicOrigins()
  const open = overlay ?? configured
  if (open !== undefined) {
    const isLocal = isLoopback(new URL(open).hostname)
    return isLocal ? onMachine(open) : { origin: open, reach: 'everywhere', note: null }
  }
  const { origin, hostname } = address.originOf(request)
  if (isLoopback(hostname)) return onMachine(origin)
  return {
    origin,
    reach: 'network',
    note: `This link works in your own network only, at ${origin}. For people elsewhere, the node needs an address that they can reach: see "Outside access" on the page "Node".`,
  }
}

function onMachine(origin: string): Reach {
  return {
    origin,
    reach: 'machine',
    note: 'This link works on the machine of the node only, because the node has no address that others can reach. Set "server.publicUrl", or join an overlay network, and make the link again.',
  }
}
