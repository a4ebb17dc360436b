import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { NodeSession } from '../tunnels/node-session.ts'
import { knock } from './knock.ts'

interface DoorsParts {
  /** Connects to the address of a node, as a client does. */
  readonly dial: (url: string, signal: AbortSignal) => Promise<Duplex>
}

/** Milliseconds between two tests of an open door, and for which an answer to a client counts as a test. */
const openMs = 60_000
/** Milliseconds after the first test that failed. The pause doubles each time, up to `openMs`. */
const closedMs = 1000
const knockMs = 5000
/** Tests at a time. After a start of the gateway, all nodes come at once. */
const maxTests = 16

/**
 * Finds out whether clients reach the nodes. A control connection does not tell: the listener, the certificate or the node itself
 * may fail. So the gateway comes to each address of a node as a client does, and tells the node what it found.
 */
export class Doors {
  readonly #parts: DoorsParts
  readonly #watched = new Map<NodeSession, AbortController>()
  #running = 0
  readonly #queue: (() => void)[] = []

  constructor(parts: DoorsParts) {
    this.#parts = parts
  }

  /** Watches the addresses of a node from now on, in place of those before. */
  watch(session: NodeSession, urls: readonly string[]): void {
    this.forget(session)
    const watch = new AbortController()
    this.#watched.set(session, watch)
    for (const url of urls) void this.#watch(session, url, watch.signal)
  }

  /** Stops watching the addresses of a node. */
  forget(session: NodeSession): void {
    this.#watched.get(session)?.abort()
    this.#watched.delete(session)
  }

  async #watch(session: NodeSession, url: string, signal: AbortSignal): Promise<void> {
    let told: string | null | undefined
    for (let failures = 0; !signal.aborted; ) {
      const reason = await this.#test(session, url, signal)
      if (signal.aborted) return
      if (reason !== told) session.send({ type: 'door', url, open: reason === null, reason })
      told = reason
      failures = reason === null ? 0 : failures + 1
      const pause = reason === null ? openMs : Math.min(closedMs * 2 ** (failures - 1), openMs)
      await untilDue(session, url, pause, signal)
    }
  }

  /** @returns why the door is closed, `null` if it is open */
  async #test(session: NodeSession, url: string, signal: AbortSignal): Promise<string | null> {
    if (this.#running >= maxTests) await new Promise<void>((resolve) => this.#queue.push(resolve))
    this.#running += 1
    try {
      if (signal.aborted) return null
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(knockMs)])
      await knock(await this.#parts.dial(url, inTime), url, session.process.nodeId, inTime)
      return null
    } catch (error) {
      const { name, message } = error as Error
      return name === 'TimeoutError' || name === 'AbortError'
        ? 'Nobody answers in time.'
        : message.slice(0, 500)
    } finally {
      this.#running -= 1
      this.#queue.shift()?.()
    }
  }
}

/** Waits for a pause, and until no client has had an answer at that address for as long. */
async function untilDue(
  session: NodeSession,
  url: string,
  pauseMs: number,
  signal: AbortSignal,
): Promise<void> {
  let left = pauseMs
  while (left > 0) {
    await delay(left, undefined, { signal, ref: false }).catch(() => {})
    if (signal.aborted) return
    const answeredAt = session.answeredAt.get(url)
    left = answeredAt === undefined || pauseMs < openMs ? 0 : answeredAt + openMs - performance.now()
  }
}
