import type { Duplex } from 'node:stream'
import { collectHeap } from '@nodekeep/plugin-sdk'

/** With fewer connections, their answers cannot take much memory together. */
const manyConnections = 32

/** Bytes of answers that may wait for clients to read them, on all connections together. */
const maxUnsentBytes = 32 * 1024 * 1024

/** An answer that is made as its client reads it, such as a file, holds less. Slow clients of those are not closed. */
const fewUnsentBytes = 128 * 1024

const sweepMs = 250

/** Sweeps after most clients have left. Their requests end a little later than their connections. */
const quietSweeps = 4

interface Progress {
  readonly written: number
  readonly unsent: number
  /** The time at which one of both changed. */
  readonly at: number
}

/**
 * Bounds what many clients that do not read their answers cost. An answer that is ready, such as a list, waits in memory until its client
 * has read it, for up to the time limit of a silent connection. Beyond a limit for all of them, the connections are closed that have
 * made no progress for the longest time.
 *
 * When most of the clients have left, the whole heap is collected once: V8 does not collect the heap of a process that has become idle, so
 * their memory would stay (MEMORY.md, "Unread answers").
 */
export class UnreadAnswers {
  readonly #connections: ReadonlyMap<Duplex, unknown>
  readonly #progress = new WeakMap<Duplex, Progress>()
  #sweep: NodeJS.Timeout | null = null
  /** The number of connections at the last collection, or the largest one since then. */
  #largest = 0
  #quiet = 0

  constructor(connections: ReadonlyMap<Duplex, unknown>) {
    this.#connections = connections
  }

  /** A connection was opened. */
  opened(): void {
    if (this.#sweep === null && this.#connections.size >= manyConnections)
      this.#sweep = setInterval(() => this.#look(), sweepMs).unref()
  }

  #look(): void {
    this.#closeStalled()
    const { size } = this.#connections
    this.#largest = Math.max(this.#largest, size)
    this.#quiet = size > this.#largest / 2 ? 0 : this.#quiet + 1
    if (this.#quiet < quietSweeps) return
    collectHeap('major')
    this.#quiet = 0
    this.#largest = size
    if (size >= manyConnections || this.#sweep === null) return
    clearInterval(this.#sweep)
    this.#sweep = null
  }

  #closeStalled(): void {
    const now = performance.now()
    let unsent = 0
    const waiting: { readonly socket: Duplex; readonly since: number }[] = []
    for (const socket of this.#connections.keys()) {
      if (socket.writableLength <= fewUnsentBytes) continue
      unsent += socket.writableLength
      waiting.push({ socket, since: this.#since(socket, now) })
    }
    if (unsent <= maxUnsentBytes) return
    waiting.sort((one, other) => one.since - other.since)
    for (const { socket } of waiting) {
      if (unsent <= maxUnsentBytes) break
      unsent -= socket.writableLength
      socket.destroy()
    }
  }

  /** The time since which nothing of the bytes of a connection has moved. */
  #since(socket: Duplex & { readonly bytesWritten?: number }, now: number): number {
    const { bytesWritten: written = 0, writableLength: unsent } = socket
    const known = this.#progress.get(socket)
    if (known?.written === written && known.unsent === unsent) return known.at
    this.#progress.set(socket, { written, unsent, at: now })
    return now
  }
}
