import type { Duplex } from 'node:stream'
import { addressGroup } from '@nodekeep/plugin-sdk'

/** With fewer connections, their answers cannot take much memory together. */
const manyConnections = 32

/** Bytes of answers that may wait for clients to read them, on all connections together. */
const maxUnsentBytes = 32 * 1024 * 1024

/** An answer that is made as its client reads it, such as a file, holds less. Slow clients of those are not closed. */
const fewUnsentBytes = 128 * 1024

const sweepMs = 250

/** A socket of the port, or of a connection that a plugin handed over. */
type ClientSocket = Duplex & { readonly bytesWritten?: number; readonly remoteAddress?: string }

interface Progress {
  readonly written: number
  readonly unsent: number
  /** The time at which one of both changed. */
  readonly at: number
}

/**
 * Bounds what many clients that do not read their answers cost. An answer that is ready, such as a list, waits in memory until its client
 * has read it, for up to the time limit of a silent connection. Beyond a limit for all of them, connections of the client for whom most
 * waits are closed: those that have made no progress for the longest time. So nobody can close the connections of others.
 */
export class UnreadAnswers {
  readonly #connections: ReadonlyMap<ClientSocket, unknown>
  readonly #progress = new WeakMap<Duplex, Progress>()
  #sweep: NodeJS.Timeout | null = null

  constructor(connections: ReadonlyMap<ClientSocket, unknown>) {
    this.#connections = connections
  }

  /** A connection was opened. */
  opened(): void {
    if (this.#sweep === null && this.#connections.size >= manyConnections)
      this.#sweep = setInterval(() => this.#look(), sweepMs).unref()
  }

  #look(): void {
    this.#closeStalled()
    if (this.#connections.size >= manyConnections || this.#sweep === null) return
    clearInterval(this.#sweep)
    this.#sweep = null
  }

  #closeStalled(): void {
    const now = performance.now()
    const waiting = [...this.#connections.keys()]
      .filter((socket) => socket.writableLength > fewUnsentBytes)
      .map((socket) => ({ socket, unsent: socket.writableLength, since: this.#since(socket, now) }))
    let excess = unsentOf(waiting) - maxUnsentBytes
    if (excess <= 0) return
    waiting.sort((one, other) => one.since - other.since)
    const clients = Map.groupBy(waiting, ({ socket }) => addressGroup(socket.remoteAddress))
    const totals = new Map(Array.from(clients, ([client, connections]) => [client, unsentOf(connections)]))
    while (excess > 0) {
      const [client, total] = [...totals].reduce((one, other) => (other[1] > one[1] ? other : one))
      const stalled = clients.get(client)?.shift()
      if (stalled === undefined) return
      totals.set(client, total - stalled.unsent)
      excess -= stalled.unsent
      stalled.socket.destroy()
    }
  }

  /** The time since which nothing of the bytes of a connection has moved. */
  #since(socket: ClientSocket, now: number): number {
    const { bytesWritten: written = 0, writableLength: unsent } = socket
    const known = this.#progress.get(socket)
    if (known?.written === written && known.unsent === unsent) return known.at
    this.#progress.set(socket, { written, unsent, at: now })
    return now
  }
}

function unsentOf(connections: readonly { readonly unsent: number }[]): number {
  return connections.reduce((sum, { unsent }) => sum + unsent, 0)
}
