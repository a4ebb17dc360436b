import type { Duplex } from 'node:stream'
import { defineService } from '../service.ts'

/** The state of the node in an overlay network (interface, "Overlay status"). */
export interface OverlayStatus {
  /** Base58 of the node's Ed25519 public key. */
  readonly nodeId: string
  /** `did:overlay:<nodeId>` */
  readonly did: string
  readonly connected: boolean
  readonly proxyEnabled: boolean
  /** The port that the proxy allocated for the node; 0 without one. */
  readonly allocatedPort: number
}

/** A connection of a client that came through the overlay. */
export interface OverlayConnection {
  readonly socket: Duplex
  /** The address of the client, as the gateway saw it. */
  readonly remoteAddress: string
}

/** A way to reach the node from outside. */
export interface OverlayNetwork {
  status(): OverlayStatus
  /** Accepts connections until the signal aborts. The node serves each like a connection to its listening port. */
  accept(handle: (connection: OverlayConnection) => void, signal: AbortSignal): Promise<void>
}

/** The overlay network. */
export const Overlay = defineService<OverlayNetwork>('overlay', 1)
