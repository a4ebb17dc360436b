import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { FairSlots } from '@nodekeep/plugin-sdk'
import type { NodeSession } from '../tunnels/node-session.ts'
import { knock } from './knock.ts'

interface DoorsParts {
  /** Connects to the address of a node, as a client does. */
  readonly dial: (url: string, signal: AbortSignal) => Promise<Duplex>
  /** Milliseconds between two tests of an open door, and for which an answer to a client counts as a test. */
  readonly openMs?: number
  /** Milliseconds after the first test that failed. The pause doubles each time, up to `openMs`. */
  readonly closedMs?: number
  /** Least milliseconds between two tests that clients bring forward. */
  readonly earlyMs?: number
}

const usualTimes = { openMs: 60_000, closedMs: 1000, earlyMs: 3000 }
const knockMs = 5000
/** Tests at a time. After a start of the gateway, all nodes come at once. */
const maxTests = 16

/**
 * Finds out whether clients reach the nodes. A control connection does not tell: the listener, the certificate or the node itself
 * may fail. So the gateway comes to each address of a node as a client does, and tells the node what it found.
 */
export class Doors {
  readonly #parts: Required<DoorsParts>
  readonly #watched = new Map<NodeSession, AbortController>()
  /** By the addresses of the nodes: nodes that let each test run out of time do not hold up those of others. */
  readonly #slots = new FairSlots({ most: maxTests, mostPerKey: maxTests / 2 })

  constructor(parts: DoorsParts) {
    this.#parts = { ...usualTimes, ...parts }
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
      await this.#untilDue(session, url, failures, signal)
    }
  }

  /**
   * Waits until the next test. Clients bring it forward: those of the node that wait in vain for an open door, and one that gets an
   * answer through a closed one.
   */
  async #untilDue(session: NodeSession, url: string, failures: number, signal: AbortSignal): Promise<void> {
    const { openMs, closedMs, earlyMs } = this.#parts
    const testedAt = performance.now()
    const isOpen = failures === 0
    const usualMs = isOpen ? openMs : Math.min(closedMs * 2 ** (failures - 1), openMs)
    const doubted = new AbortController()
    const event = isOpen ? 'unanswered' : 'answered'
    const onEvent = (urlOfClient: string) => {
      // Clients of one address that wait in vain are a reason to test all: they share the way to the node.
      if (isOpen || urlOfClient === url) doubted.abort()
    }
    session.clientEvents.on(event, onEvent)
    const either = AbortSignal.any([signal, doubted.signal])
    if (isOpen) await untilIdle(session, url, usualMs, either)
    else await pause(usualMs, either)
    session.clientEvents.off(event, onEvent)
    await pause(testedAt + Math.min(earlyMs, usualMs) - performance.now(), signal)
  }

  /** @returns why the door is closed, `null` if it is open */
  #test(session: NodeSession, url: string, signal: AbortSignal): Promise<string | null> {
    return this.#slots.run(session.process.addressGroup, () => this.#testNow(session, url, signal))
  }

  async #testNow(session: NodeSession, url: string, signal: AbortSignal): Promise<string | null> {
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
