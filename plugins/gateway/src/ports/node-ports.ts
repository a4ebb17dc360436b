import type { Log } from '@nodekeep/plugin-sdk'
import { type ListenerServices, PublicListener, type Visit } from '../connections/public-listener.ts'
import type { LoggedNode, NodeLog } from '../tunnels/node-log.ts'
import type { PortTable } from './port-table.ts'

interface NodePortsServices {
  readonly table: PortTable
  /** Where to listen; empty for all addresses. */
  readonly host: string
  /** The nodes that are connected. */
  readonly present: () => readonly string[]
  readonly listener: ListenerServices
  readonly route: (visit: Visit, nodeId: string, port: number) => Promise<void>
  readonly nodeLog: NodeLog
  readonly log: Log
}

/** Milliseconds between two notes of who is connected. A gateway that is killed forgets no more. */
const noteMs = 60 * 60_000

/** The allocated ports. The gateway listens on each of them as long as it runs, also while the node is away. */
export class NodePorts {
  readonly #services: NodePortsServices
  readonly #open = new Map<number, { readonly node: string; readonly listener: PublicListener }>()

  readonly #notes: NodeJS.Timeout
  #isClosed = false

  constructor(services: NodePortsServices) {
    this.#services = services
    this.#notes = setInterval(() => this.#note(services.present()), noteMs).unref()
  }

  /** Opens the ports that were allocated before. */
  async openAll(): Promise<void> {
    const opening = this.#services.table.all().map(async ({ port, node }) => {
      const err = await this.#listen(port, node)
      if (err !== null) this.#services.log.warn({ err, port, node }, unusable(port))
    })
    await Promise.all(opening)
  }

  /** Returns the port of a node, and opens it if needed; 0 if there is none for it. */
  async portOf(node: LoggedNode): Promise<number> {
    const { table, present, nodeLog } = this.#services
    const { nodeId } = node
    const inUse = new Set<number>()
    for (;;) {
      const wasKnown = table.has(nodeId)
      const port = table.allocate(nodeId, inUse, present)
      if (port === null) {
        nodeLog.write('warn', node, 'All ports of "gateway.ports.range" are taken, so the node gets none.')
        return 0
      }
      if (this.#open.get(port)?.node === nodeId) return port
      // A port of a node that stayed away for long may have been given to this one.
      this.#open.get(port)?.listener.close()
      const err = await this.#listen(port, nodeId)
      if (err === null) return port
      nodeLog.write('warn', node, unusable(port), { err, port })
      if (wasKnown) return 0
      table.release(nodeId)
      inUse.add(port)
    }
  }

  /** Returns the address at which a port of this class is reached from this machine. */
  addressOf(port: number) {
    return this.#open.get(port)?.listener.address ?? null
  }

  /** A node does not take clients any more. */
  left(node: LoggedNode): void {
    if (!this.#isClosed) this.#note([node.nodeId], node)
  }

  /** Closes the ports. Nodes that are connected now count as connected up to now. */
  close(): void {
    this.#isClosed = true
    clearInterval(this.#notes)
    this.#note(this.#services.present())
    for (const { listener } of this.#open.values()) listener.close()
    this.#open.clear()
  }

  /** @param left the node that causes it; without it, the gateway does */
  #note(nodes: readonly string[], left?: LoggedNode): void {
    const { table, log, nodeLog } = this.#services
    try {
      table.note(nodes)
    } catch (err) {
      // The disk may be full. The gateway goes on.
      const message =
        'The time for which nodes have been connected cannot be stored. They may lose their ports sooner.'
      if (left === undefined) log.error({ err }, message)
      else nodeLog.write('error', left, message, { err })
    }
  }

  /** @returns why the port cannot be opened, `null` if it is open */
  async #listen(port: number, node: string): Promise<unknown> {
    const { host, listener: services, route } = this.#services
    const listener = new PublicListener(services, (visit) => route(visit, node, port))
    try {
      await listener.listen(host, port)
    } catch (err) {
      return err
    }
    this.#open.set(port, { node, listener })
    return null
  }
}

function unusable(port: number): string {
  return `Port ${port} is allocated to a node, but the gateway cannot listen on it.`
}
