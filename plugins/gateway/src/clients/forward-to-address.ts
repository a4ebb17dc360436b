import { once } from 'node:events'
import type { Socket } from 'node:net'
import { dial, type OwnAddress } from '../addresses/own-address.ts'
import type { AddressRates } from '../connections/address-rates.ts'
import type { OpenConnections } from '../connections/open-connections.ts'
import { relay } from '../connections/relay.ts'

interface OwnAddressLimits {
  /** Counts the connections to each address. */
  readonly open: OpenConnections
  /** `null` without a limit. */
  readonly rates: AddressRates | null
  readonly connectMs: number
  readonly idleMs: number
}

/**
 * Forwards a client to a node at an address of its own. The bytes of the client that have been read must be back in its stream.
 *
 * @returns why the node does not get it; then the caller answers the client
 */
export async function forwardToAddress(
  client: Socket,
  to: OwnAddress,
  { open, rates, connectMs, idleMs }: OwnAddressLimits,
): Promise<'away' | 'busy' | null> {
  const node = dial(to)
  if (open.enter(node, to.address) === null) {
    node.destroy()
    return 'busy'
  }
  try {
    await once(node, 'connect', { signal: AbortSignal.timeout(connectMs) })
  } catch {
    node.destroy()
    return 'away'
  }
  relay(client, node, { idleMs, rate: rates?.of(to.address) ?? null })
  return null
}
