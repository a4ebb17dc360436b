import type { Duplex } from 'node:stream'
import { defineService } from '../service.ts'

/** The node's place in an overlay network (interface, "Overlay status"). */
export interface OverlayStatus {
  /** Base58 of the node's Ed25519 public key. */
  readonly nodeId: string
  /** `did:overlay:<nodeId>` */
  readonly did: string
  readonly connected: boolean
  readonly proxyEnabled: boolean
  /** Port that the proxy allocated for the node, 0 while there is none. */
  readonly allocatedPort: number
}

/** A connection of a client that came through the overlay. */
export interface OverlayConnection {
  readonly socket: Duplex
  /** The client's own address as the gateway saw it. */
  readonly remoteAddress: string
}

/** A way to reach the node from outside. */
export interface OverlayNetwork {
  status(): OverlayStatus
  /** Takes connections until the signal aborts; each is served like one that came to the listening port. */
  accept(handle: (connection: OverlayConnection) => void, signal: AbortSignal): Promise<void>
}

/** The overlay network. */
export const Overlay = defineService<OverlayNetwork>('overlay', 1)
