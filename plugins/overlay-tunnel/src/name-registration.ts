import { setTimeout as delay } from 'node:timers/promises'
import type { Log, NodeIdentity, StateStore } from '@nodekeep/plugin-sdk'
import type { GatewayRoute } from './connect-to-gateway.ts'
import type { GatewayRequest } from './gateway-api.ts'
import { GatewayRefusal } from './gateway-refusal.ts'
import { type OwnName, ownName } from './own-name.ts'
import { RepeatedFailure } from './repeated-failure.ts'

/** A session with the gateway that has taken the node in. */
interface WelcomeSession {
  readonly route: GatewayRoute
  readonly gatewayId: string
  /** Whether the gateway forwards clients of the name to the node already. */
  readonly isForwarded: boolean
  /** {@link NameRegistration.problem} has changed. */
  readonly onChange: () => void
}

const usualRetryMs = 60_000
const longestRetryMs = 60 * 60_000

/**
 * Sees to it that the node has the name of its configuration at its gateway, and no former one. The state has the names that the node
 * has asked a gateway for, so that it knows which ones to give back.
 */
export class NameRegistration {
  readonly #name: OwnName | null
  readonly #identity: NodeIdentity
  readonly #state: StateStore
  readonly #log: Log
  readonly #firstRetryMs: number
  readonly #failure: RepeatedFailure
  #problem: string | null = null
  /** When the next attempt is allowed, by the monotonic clock: a node that loses its gateway again and again must not flood it. */
  #notBefore = Number.NEGATIVE_INFINITY

  /**
   * @param name `null` if the node is to have no name
   * @param firstRetryMs milliseconds between the first attempt that failed and the next one
   */
  constructor(
    name: OwnName | null,
    identity: NodeIdentity,
    state: StateStore,
    log: Log,
    firstRetryMs = usualRetryMs,
  ) {
    this.#name = name
    this.#identity = identity
    this.#state = state
    this.#log = log
    this.#firstRetryMs = firstRetryMs
    this.#failure = new RepeatedFailure(log)
  }

  /** Why the node does not have its name, in one word: `name-taken` or `name-failing`; `null` if nothing failed. */
  get problem(): string | null {
    return this.#problem
  }

  /** Registers the name until it is registered or the session is over, and gives former names back. It never rejects. */
  async ensureName(session: WelcomeSession, signal: AbortSignal): Promise<void> {
    if (session.isForwarded) this.#notBefore = Number.NEGATIVE_INFINITY
    for (let pauseMs = this.#firstRetryMs; ; pauseMs = Math.min(pauseMs * 2, longestRetryMs)) {
      await delay(Math.max(0, this.#notBefore - performance.now()), undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      try {
        await this.#bringUpToDate(session, signal)
        this.#failure.over()
        this.#tell(null, session)
        return
      } catch (error) {
        if (signal.aborted) return
        // All nodes of a gateway may fail together. They try again apart.
        const retryMs = Math.round(pauseMs * (0.8 + Math.random() * 0.4))
        this.#notBefore = performance.now() + retryMs
        this.#failure.note(this.#sentence(error), retryMs)
        this.#tell(statusOf(error) === 409 ? 'name-taken' : 'name-failing', session)
      }
    }
  }

  async #bringUpToDate(session: WelcomeSession, signal: AbortSignal): Promise<void> {
    const name = this.#name
    const key = `names at ${session.gatewayId}`
    const asked = (await this.#state.get<string[]>(key)) ?? []
    let former = asked.filter((host) => host !== name?.host)
    const toRegister = session.isForwarded ? null : name
    if (toRegister === null && former.length === 0) return
    let kept = asked.filter((host) => host === name?.host)
    if (toRegister !== null) {
      const { host } = toRegister
      kept = [host]
      // Before the request, so that a crash leaves no name that the node does not know of.
      if (!asked.includes(host)) await this.#state.set(key, [...asked, host])
      try {
        await this.#register(toRegister, session, signal)
      } catch (error) {
        // The node may have as many names as the gateway allows, with those from before.
        if (statusOf(error) !== 403 || former.length === 0) throw error
        former = await this.#giveBack(former, session, signal)
        await this.#register(toRegister, session, signal)
      }
      this.#log.info({ name: host }, `The node has the name ${host} at its gateway.`)
    }
    former = await this.#giveBack(former, session, signal)
    await this.#state.set(key, [...kept, ...former])
  }

  async #register(name: OwnName, { route }: WelcomeSession, signal: AbortSignal): Promise<void> {
    const body = { subdomain: name.subdomain, endpoint: `overlay://${this.#identity.nodeId}` }
    const asked = { method: 'POST', host: name.gatewayHost, path: '/api/gateway/register', body } as const
    await this.#ask(route, asked, signal)
  }

  /** @returns the names that could not be given back */
  async #giveBack(
    hosts: readonly string[],
    { route }: WelcomeSession,
    signal: AbortSignal,
  ): Promise<string[]> {
    const left: string[] = []
    for (const host of hosts) {
      const { subdomain, gatewayHost } = ownName(host)
      const path = `/api/gateway/register/${subdomain}`
      try {
        await this.#ask(route, { method: 'DELETE', host: gatewayHost, path }, signal)
        this.#log.info({ name: host }, `The node has given its former name ${host} back to the gateway.`)
      } catch (error) {
        signal.throwIfAborted()
        // The node does not have the name: it never got it, or the gateway has another domain now.
        if ([400, 403, 404].includes(statusOf(error) ?? 0)) continue
        left.push(host)
        const { message } = error as Error
        this.#log.warn(
          { name: host },
          `The former name ${host} could not be given back to the gateway: ${message}`,
        )
      }
    }
    return left
  }

  async #ask(route: GatewayRoute, asked: GatewayRequest, signal: AbortSignal): Promise<void> {
    // A node without a gateway does not need the library for signatures.
    const { askGateway } = await import('./gateway-api.ts')
    await askGateway(route, this.#identity, asked, signal)
  }

  #sentence(error: unknown): string {
    const name = this.#name
    const { message } = error as Error
    if (name === null) return `The node cannot give its former names back: ${message}`
    const status = statusOf(error)
    // The sentence for 421 is for the operator of the gateway.
    const reason = status === 421 ? 'The gateway has another domain, or another port of https.' : message
    const remedy = [400, 404, 421].includes(status ?? 0)
      ? ' Check that "overlay-tunnel.name" is a name in the domain of the gateway, with its port of https unless that is 443.'
      : ''
    return `The node does not get the name ${name.host} from its gateway: ${reason}${remedy}`
  }

  #tell(problem: string | null, { onChange }: WelcomeSession): void {
    if (problem === this.#problem) return
    this.#problem = problem
    onChange()
  }
}

/** Returns the status by which the gateway refused a request, `null` for other failures. */
function statusOf(error: unknown): number | null {
  return error instanceof GatewayRefusal ? error.status : null
}
