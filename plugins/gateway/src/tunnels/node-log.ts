import type { Log } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'

/** A node, and the group of the address that it came from. */
export interface LoggedNode {
  readonly nodeId: string
  readonly addressGroup: string
}

/** Lines about the nodes of one address within a minute. More would let one of them fill the disk of the log. */
const linesPerMinute = 100
/** Addresses in memory. */
const maxAddresses = 10_000

/** Logs what nodes do, but not as often as they like. */
export class NodeLog {
  readonly #log: Log
  readonly #lines = new LRUCache<string, number>({ max: maxAddresses, ttl: 60_000, noUpdateTTL: true })

  constructor(log: Log) {
    this.#log = log
  }

  write(
    level: 'info' | 'warn' | 'error',
    node: LoggedNode,
    message: string,
    facts: Readonly<Record<string, unknown>> = {},
  ): void {
    if (this.#admits(node)) this.#log[level]({ node: node.nodeId, ...facts }, message)
  }

  #admits({ addressGroup: address }: LoggedNode): boolean {
    const count = (this.#lines.get(address) ?? 0) + 1
    this.#lines.set(address, count)
    if (count === linesPerMinute + 1) {
      this.#log.warn(
        { address },
        'Further lines about nodes of this address are not logged for up to a minute.',
      )
    }
    return count <= linesPerMinute
  }
}
