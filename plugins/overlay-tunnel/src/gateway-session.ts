import type { TLSSocket } from 'node:tls'
import {
  ControlChannel,
  type GatewayMessage,
  type NodeMessage,
  readGatewayMessage,
  tunnelVersion,
} from '@nodekeep/plugin-sdk/tunnel'
import { connectToGateway, GatewayUnreachable } from './connect-to-gateway.ts'
import { DataConnections, type DataConnectionsServices } from './data-connections.ts'
import type { OwnName } from './own-name.ts'
import { sortUrls } from './own-urls.ts'

interface GatewaySessionServices extends DataConnectionsServices {
  /** The name in the configuration. */
  readonly name: OwnName | null
  /** The gateway with this id has taken the node in. */
  readonly onWelcome: (gatewayId: string) => void
  /** The port, the URLs or whether clients reach them have changed. */
  readonly onChange: () => void
}

/** Lines about the reachability of the node within a minute. More would let a gateway fill the disk of the log. */
const reachabilityLinesPerMinute = 30

/** How a session ended. */
interface SessionEnd {
  /** A sentence for the log. */
  readonly reason: string
  /** Milliseconds for which the gateway asked the node to stay away. */
  readonly retryMs: number
  /** Whether nothing answered at the address of the gateway. */
  readonly isUnreachable?: boolean
}

/** One session with the gateway: a control connection from its beginning to its end, and what the gateway said on it. */
export class GatewaySession {
  readonly #services: GatewaySessionServices
  /** Whether the gateway could reach the node at its URLs; `null` while it has not tried. */
  readonly #reachable = new Map<string, boolean | null>()
  #port = 0
  #hasWarned = false
  #wasWelcome = false
  #isStopping = false
  /** The lines about reachability since a time of the monotonic clock. */
  #lines = { count: 0, since: Number.NEGATIVE_INFINITY }

  constructor(services: GatewaySessionServices) {
    this.#services = services
  }

  get wasWelcome(): boolean {
    return this.#wasWelcome
  }

  /** The port of the gateway for the node; 0 without one. */
  get port(): number {
    return this.#port
  }

  /** The URLs of the node. */
  get urls(): string[] {
    return this.#isStopping ? [] : [...this.#reachable.keys()]
  }

  /** Whether the gateway has reached the node at one of them, as a client would. */
  get isConnected(): boolean {
    return !this.#isStopping && [...this.#reachable.values()].includes(true)
  }

  /** Runs the session. It resolves when the session has ended, and never rejects. */
  async run(signal: AbortSignal): Promise<SessionEnd> {
    const { route, node, instance } = this.#services
    const { host, port } = route.address
    const over = new AbortController()
    try {
      const line = {
        purpose: 'control',
        version: tunnelVersion,
        instance,
        endsTls: node.endsTls,
        host,
      } as const
      const { socket, gatewayId } = await connectToGateway(route, line, signal)
      const data = new DataConnections(this.#services, over.signal)
      const end = await this.#converse(socket, gatewayId, data, signal)
      // Clients of a node that leaves may finish.
      if (signal.aborted) data.closeWaiting()
      else data.close()
      return end
    } catch (error) {
      const { message } = error as Error
      return {
        reason: `The gateway ${host}:${port} cannot be reached: ${message}`,
        retryMs: 0,
        isUnreachable: error instanceof GatewayUnreachable,
      }
    } finally {
      over.abort()
    }
  }

  async #converse(
    socket: TLSSocket,
    gatewayId: string,
    data: DataConnections,
    signal: AbortSignal,
  ): Promise<SessionEnd> {
    const { promise: ended, resolve: end } = Promise.withResolvers<SessionEnd>()
    const channel = new ControlChannel<NodeMessage, GatewayMessage>(socket, {
      read: readGatewayMessage,
      onEnd: (reason) => end({ reason: `The connection to the gateway has ended. ${reason}`, retryMs: 0 }),
      onMessage: (message) => {
        if (message.type === 'dial') data.open(message.count)
        else if (message.type === 'refused') {
          channel.close()
          end({
            reason: `The gateway does not take the node in: ${message.reason}`,
            retryMs: message.retrySeconds * 1000,
          })
        } else if (message.type === 'replaced') {
          channel.close()
          end({
            reason: 'Another process with the key of this node has taken its place at the gateway.',
            retryMs: 0,
          })
        } else this.#note(message)
        if (message.type === 'welcome' && !this.#wasWelcome) {
          this.#wasWelcome = true
          this.#services.onWelcome(gatewayId)
        }
      },
    })
    const leave = () => {
      channel.close({ type: 'leaving' })
      end({ reason: 'The node leaves.', retryMs: 0 })
    }
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    const result = await ended
    signal.removeEventListener('abort', leave)
    return result
  }

  #note(message: GatewayMessage): void {
    const { log, name, route, onChange } = this.#services
    switch (message.type) {
      case 'welcome': {
        const { own, foreign } = sortUrls(message, name, route.address.host)
        this.#port = message.port
        for (const url of this.#reachable.keys()) if (!own.includes(url)) this.#reachable.delete(url)
        for (const url of own) this.#reachable.set(url, this.#reachable.get(url) ?? null)
        this.#warnOf(foreign)
        break
      }
      case 'reachability':
        if (!this.#reachable.has(message.url)) return
        if (this.#reachable.get(message.url) === message.reachable) return
        this.#reachable.set(message.url, message.reachable)
        this.#logReachability(message)
        break
      case 'stopping':
        if (this.#isStopping) return
        this.#isStopping = true
        log.info('The gateway stops. The node connects again when the gateway is back.')
        break
    }
    onChange()
  }

  /** The gateway decides how often it sends such a message. */
  #logReachability({
    url,
    reachable,
    reason,
  }: Extract<GatewayMessage, { readonly type: 'reachability' }>): void {
    const { log } = this.#services
    const now = performance.now()
    if (now - this.#lines.since > 60_000) this.#lines = { count: 0, since: now }
    this.#lines.count += 1
    if (this.#lines.count > reachabilityLinesPerMinute + 1) return
    if (this.#lines.count > reachabilityLinesPerMinute)
      log.warn('The reachability of the node changes all the time. That is not logged for up to a minute.')
    else if (reachable) log.info({ url }, `Clients reach the node at ${url}.`)
    else log.warn({ url }, `Clients do not reach the node at ${url}: ${reason}`)
  }

  /** Warns once, since the gateway decides how often it sends such URLs. */
  #warnOf(foreign: readonly string[]): void {
    const [url] = foreign
    if (url === undefined || this.#hasWarned) return
    this.#hasWarned = true
    this.#services.log.warn(
      { urls: foreign },
      `The gateway also forwards ${url} to the node, but this is not its name. If it is to be, set "overlay-tunnel.name" to "${new URL(url).host}".`,
    )
  }
}
