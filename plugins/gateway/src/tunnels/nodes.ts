import type { TLSSocket } from 'node:tls'
import { KeyedLock } from '@nodekeep/plugin-sdk'
import { type GatewayMessage, writeLine } from '@nodekeep/plugin-sdk/tunnel'
import { closeWith } from '../connections/close-with.ts'
import type { NodeLog } from './node-log.ts'
import { type NodeProcess, NodeSession, type SessionLimits } from './node-session.ts'

interface NodesServices {
  readonly nodeLog: NodeLog
  /** A node has connected. */
  readonly onArrival: (session: NodeSession) => Promise<void>
  /** A node does not take clients any more. */
  readonly onDeparture: (session: NodeSession) => void
}

interface NodesOptions {
  /** The ids of the nodes that may connect; empty for all. */
  readonly allowed: readonly string[]
  readonly maxNodes: number
  readonly maxNodesPerAddress: number
  readonly session: SessionLimits
}

/** Milliseconds for the older of two processes to answer. */
const claimMs = 1000
/** Seconds after which a process that was refused may try again. */
const retrySeconds = 30

/** The nodes that are connected. A node is one process: of two with the same key, the one that is alive and was first stays. */
export class Nodes {
  readonly #services: NodesServices
  readonly #options: NodesOptions
  readonly #sessions = new Map<string, NodeSession>()
  readonly #arrivals = new KeyedLock()

  constructor(services: NodesServices, options: NodesOptions) {
    this.#services = services
    this.#options = options
  }

  /** Returns the session of a node that takes clients now. */
  find(nodeId: string): NodeSession | null {
    return this.#sessions.get(nodeId) ?? null
  }

  /** The ids of the nodes that take clients now. */
  get ids(): string[] {
    return [...this.#sessions.keys()]
  }

  /** Takes the control connection of a node in, or refuses it with the reason. */
  async arrive(socket: TLSSocket, process: NodeProcess): Promise<void> {
    await this.#arrivals.run([process.nodeId], () => this.#arrive(socket, process))
  }

  /** Takes a data connection of a node. */
  addConnection(socket: TLSSocket, nodeId: string, instance: string): void {
    const session = this.#sessions.get(nodeId)
    if (session?.process.instance === instance) session.addConnection(socket)
    else socket.destroy()
  }

  /** Sends a message to all nodes. */
  tellAll(message: GatewayMessage): void {
    for (const session of this.#sessions.values()) session.send(message)
  }

  /** Ends all sessions and cuts their clients. */
  end(): void {
    for (const session of this.#sessions.values()) session.end()
  }

  async #arrive(socket: TLSSocket, process: NodeProcess): Promise<void> {
    const { nodeId, instance } = process
    const { onArrival, nodeLog } = this.#services
    const { allowed } = this.#options
    if (allowed.length > 0 && !allowed.includes(nodeId)) {
      refuse(socket, `The operator of the gateway has to add ${nodeId} to "gateway.nodes".`)
      return
    }
    const present = this.#sessions.get(nodeId)
    if (present?.process.instance === instance) {
      // It has noticed the loss of the connection before the gateway has.
      present.end()
    } else if (present !== undefined) {
      if (await present.answersWithin(claimMs)) {
        nodeLog.write('warn', process, 'A second process with the key of a connected node was refused.')
        refuse(
          socket,
          'Another process with the same node key is connected. Give each node a data folder and a key of its own.',
        )
        return
      }
      present.end({ type: 'replaced' })
    }
    if (socket.destroyed) return
    const session = this.#begin(socket, process)
    if (session === null) {
      refuse(socket, 'The gateway serves as many nodes as it may, in all or from this address.')
      return
    }
    try {
      await onArrival(session)
    } catch (err) {
      nodeLog.write('error', process, 'A node cannot be taken in.', { err })
      session.end({
        type: 'refused',
        reason: 'The gateway has a fault, which its log describes.',
        retrySeconds,
      })
    }
  }

  #begin(socket: TLSSocket, process: NodeProcess): NodeSession | null {
    const { nodeLog, onDeparture } = this.#services
    const { maxNodes, maxNodesPerAddress, session: limits } = this.#options
    if (this.#sessions.size >= maxNodes) return null
    const { addressGroup, nodeId } = process
    const near = this.#sessions.values().filter((one) => one.process.addressGroup === addressGroup)
    if (near.toArray().length >= maxNodesPerAddress) return null
    const session: NodeSession = new NodeSession(socket, process, limits, {
      nodeLog,
      onEnd: () => {
        this.#sessions.delete(nodeId)
        onDeparture(session)
      },
    })
    this.#sessions.set(nodeId, session)
    return session
  }
}

/** Tells a node why it is not taken in, and closes the connection. */
export function refuse(socket: TLSSocket, reason: string): void {
  closeWith(socket, writeLine({ type: 'refused', reason, retrySeconds }))
}
