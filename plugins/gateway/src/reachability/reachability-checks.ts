import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { FairSlots } from '@nodekeep/plugin-sdk'
import type { NodeSession } from '../tunnels/node-session.ts'
import { probe } from './probe.ts'

interface CheckOptions {
  /** Connects to the address of a node, as a client does. */
  readonly dial: (url: string, signal: AbortSignal) => Promise<Duplex>
  /** Milliseconds between two checks of an address that is reachable, and for which an answer to a client counts as a check. */
  readonly reachableMs?: number
  /** Milliseconds after the first check that failed. The pause doubles each time, up to `reachableMs`. */
  readonly unreachableMs?: number
  /** Least milliseconds between two checks that clients bring forward. */
  readonly earlyMs?: number
}

const usualTimes = { reachableMs: 60_000, unreachableMs: 1000, earlyMs: 3000 }
const probeMs = 5000
/** Checks at a time. After a start of the gateway, all nodes come at once. */
const maxChecks = 16

/**
 * Finds out whether clients reach the nodes. A control connection does not tell: the listener, the certificate or the node itself
 * may fail. So the gateway comes to each address of a node as a client does, and tells the node what it found.
 */
export class ReachabilityChecks {
  readonly #options: Required<CheckOptions>
  readonly #watched = new Map<NodeSession, AbortController>()
  /** By the addresses of the nodes: nodes that let each check run out of time do not hold up those of others. */
  readonly #slots = new FairSlots({ most: maxChecks, mostPerKey: maxChecks / 2 })

  constructor(options: CheckOptions) {
    this.#options = { ...usualTimes, ...options }
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
    let sent: string | null | undefined
    for (let failures = 0; !signal.aborted; ) {
      const reason = await this.#check(session, url, signal)
      if (signal.aborted) return
      if (reason !== sent) session.send({ type: 'reachability', url, reachable: reason === null, reason })
      sent = reason
      failures = reason === null ? 0 : failures + 1
      await this.#untilDue(session, url, failures, signal)
    }
  }

  /**
   * Waits until the next check. Clients bring it forward: those that wait in vain while the address is reachable, and one that gets
   * an answer while it is not.
   */
  async #untilDue(session: NodeSession, url: string, failures: number, signal: AbortSignal): Promise<void> {
    const { reachableMs, unreachableMs, earlyMs } = this.#options
    const checkedAt = performance.now()
    const isReachable = failures === 0
    const usualMs = isReachable ? reachableMs : Math.min(unreachableMs * 2 ** (failures - 1), reachableMs)
    const doubted = new AbortController()
    const event = isReachable ? 'unanswered' : 'answered'
    const onEvent = (urlOfClient: string) => {
      // Clients of one address that wait in vain are a reason to check all: they share the tunnel to the node.
      if (isReachable || urlOfClient === url) doubted.abort()
    }
    session.clientEvents.on(event, onEvent)
    const either = AbortSignal.any([signal, doubted.signal])
    if (isReachable) await untilIdle(session, url, usualMs, either)
    else await pause(usualMs, either)
    session.clientEvents.off(event, onEvent)
    await pause(checkedAt + Math.min(earlyMs, usualMs) - performance.now(), signal)
  }

  /** @returns why the address is not reachable, `null` if it is */
  #check(session: NodeSession, url: string, signal: AbortSignal): Promise<string | null> {
    return this.#slots.run(session.process.addressGroup, () => this.#checkNow(session, url, signal))
  }

  async #checkNow(session: NodeSession, url: string, signal: AbortSignal): Promise<string | null> {
    try {
      if (signal.aborted) return null
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(probeMs)])
      await probe(await this.#options.dial(url, inTime), url, session.process.nodeId, inTime)
      return null
    } catch (error) {
      const { name, message } = error as Error
      return name === 'TimeoutError' || name === 'AbortError'
        ? 'Nobody answers in time.'
        : message.slice(0, 500)
    }
  }
}

/** Waits until no client has had an answer at the address for some time. */
async function untilIdle(session: NodeSession, url: string, ms: number, signal: AbortSignal): Promise<void> {
  for (let left = ms; left > 0 && !signal.aborted; ) {
    await pause(left, signal)
    left = (session.answeredAt.get(url) ?? Number.NEGATIVE_INFINITY) + ms - performance.now()
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(Math.max(ms, 0), undefined, { signal, ref: false }).catch(() => {})
}
