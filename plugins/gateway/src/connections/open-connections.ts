import type { Socket } from 'node:net'
import { addressGroup } from '@nodekeep/plugin-sdk'
import { cut } from './cut.ts'

interface ConnectionLimits {
  readonly inAll: number
  readonly perAddress: number
}

/** Open connections within limits: in all, and for each client address. */
export class OpenConnections {
  readonly #limits: ConnectionLimits
  readonly #sockets = new Set<Socket>()
  readonly #byAddress = new Map<string, number>()
  #emptied: (() => void) | null = null

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  /**
   * Counts a connection until it is closed, if the limits allow it.
   *
   * @param address the IP address of its client
   * @returns a function that ends the count earlier; `null` beyond a limit, or if the connection is closed
   */
  enter(socket: Socket, address: string): (() => void) | null {
    const group = addressGroup(address)
    const sameGroup = this.#byAddress.get(group) ?? 0
    const { inAll, perAddress } = this.#limits
    if (socket.destroyed || this.#sockets.size >= inAll || sameGroup >= perAddress) return null
    this.#sockets.add(socket)
    this.#byAddress.set(group, sameGroup + 1)
    const leave = () => {
      if (!this.#sockets.delete(socket)) return
      const left = (this.#byAddress.get(group) ?? 1) - 1
      if (left === 0) this.#byAddress.delete(group)
      else this.#byAddress.set(group, left)
      if (this.#sockets.size === 0) this.#emptied?.()
    }
    socket.once('close', leave)
    return leave
  }

  /** Waits until all connections have ended, but not longer than a limit. Those that are left then are cut. */
  async drain(ms: number): Promise<void> {
    if (this.#sockets.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#emptied = resolve
    const timer = setTimeout(resolve, ms)
    await promise
    clearTimeout(timer)
    for (const socket of this.#sockets) cut(socket)
  }
}
