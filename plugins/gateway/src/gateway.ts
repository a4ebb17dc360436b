import { BlockList, createServer, isIPv6, type Server } from 'node:net'
import { addressGroup, type ClientConnections, type Log } from '@nodekeep/plugin-sdk'
import type { CertificateFiles } from '@nodekeep/plugin-sdk/server-tls'
import { type TunnelTls, tunnelVersion } from '@nodekeep/plugin-sdk/tunnel'
import { Addresses } from './addresses/addresses.ts'
import type { Names } from './addresses/names.ts'
import { ClientRouter } from './clients/client-router.ts'
import { ErrorAnswers } from './clients/error-answers.ts'
import { HttpsRedirect } from './clients/https-redirect.ts'
import type { GatewayConfiguration } from './configuration.ts'
import { AddressRates } from './connections/address-rates.ts'
import { listen } from './connections/listen.ts'
import { OpenConnections } from './connections/open-connections.ts'
import { plainAddress } from './connections/proxy-header.ts'
import { type ListenerServices, PublicListener } from './connections/public-listener.ts'
import { NodePorts } from './ports/node-ports.ts'
import type { PortTable } from './ports/port-table.ts'
import { dialAsClient } from './reachability/dial-as-client.ts'
import { ReachabilityChecks } from './reachability/reachability-checks.ts'
import { NodeLog } from './tunnels/node-log.ts'
import type { NodeSession } from './tunnels/node-session.ts'
import { Nodes, refuse } from './tunnels/nodes.ts'
import { type NodeConnection, TunnelServer } from './tunnels/tunnel-server.ts'

interface GatewayServices {
  readonly tls: TunnelTls
  readonly names: Names
  readonly portTable: PortTable | null
  readonly certificate: CertificateFiles | null
  readonly connections: ClientConnections
  readonly log: Log
}

/** The listeners of the gateway, and what is behind them. */
export class Gateway {
  readonly #config: GatewayConfiguration
  readonly #services: GatewayServices
  readonly #clients: OpenConnections
  /** Connections of nodes that have not been taken in yet. */
  readonly #handshakes: OpenConnections
  readonly #addresses: Addresses
  readonly #nodes: Nodes
  readonly #reachability: ReachabilityChecks
  readonly #ports: NodePorts | null
  readonly #control: Server
  readonly #http: PublicListener
  readonly #https: PublicListener

  constructor(config: GatewayConfiguration, services: GatewayServices) {
    this.#config = config
    this.#services = services
    const { tls, names, portTable, certificate, connections, log } = services
    const { limits, domain = null, https } = config
    const [helloMs, idleMs] = [limits.helloSeconds * 1000, limits.idleSeconds * 1000]
    this.#clients = new OpenConnections({
      inAll: limits.connections,
      perAddress: limits.connectionsPerAddress,
    })
    this.#addresses = new Addresses(
      domain,
      names,
      () => https.publicPort ?? this.#https.address?.port ?? https.port,
    )
    const nodeLog = new NodeLog(log)
    const nodesServices = {
      nodeLog,
      onArrival: (session: NodeSession) => this.#welcome(session),
      onDeparture: (session: NodeSession) => {
        this.#reachability.forget(session)
        this.#ports?.left(session.process)
      },
    }
    this.#nodes = new Nodes(nodesServices, {
      allowed: config.nodes,
      maxNodes: limits.nodes,
      maxNodesPerAddress: limits.nodesPerAddress,
      session: {
        spares: config.spares,
        maxConnections: limits.connectionsPerNode,
        helloMs,
        idleMs,
        bytesPerSecond: limits.bytesPerSecond ?? null,
      },
    })
    this.#handshakes = new OpenConnections({
      inAll: limits.handshakes,
      perAddress: limits.handshakesPerAddress,
    })
    const onConnection = (connection: NodeConnection) => this.#takeConnection(connection)
    const tunnel = new TunnelServer({ tls, helloMs, handshakes: this.#handshakes, log, onConnection })
    const router = new ClientRouter({
      addresses: this.#addresses,
      nodes: this.#nodes,
      certificate,
      connections,
      tunnel,
      errors: new ErrorAnswers(helloMs),
      helloMs,
      ownAddresses: {
        open: new OpenConnections({ inAll: limits.connections, perAddress: limits.connectionsPerNode }),
        rates: limits.bytesPerSecond === undefined ? null : new AddressRates(limits.bytesPerSecond),
        connectMs: helloMs,
        idleMs,
      },
    })
    const listener: ListenerServices = {
      proxies: blockList(config.proxyProtocol),
      open: this.#clients,
      helloMs,
      log,
    }
    this.#control = createServer({ allowHalfOpen: true }, (socket) => {
      const { remoteAddress, remotePort: port = 0 } = socket
      if (remoteAddress === undefined) socket.destroy()
      else void tunnel.accept(socket, { address: plainAddress(remoteAddress), port })
    })
    const redirect = new HttpsRedirect(this.#addresses, helloMs)
    this.#http = new PublicListener(listener, (visit) => redirect.serve(visit))
    this.#https = new PublicListener(listener, (visit) => router.routeHttps(visit))
    this.#ports =
      portTable === null
        ? null
        : new NodePorts({
            table: portTable,
            host: config.ports.host,
            present: () => this.#nodes.ids,
            listener,
            route: (visit, nodeId, port) => router.routePort(visit, nodeId, port),
            nodeLog,
            log,
          })
    this.#reachability = new ReachabilityChecks({
      dial: (url, signal) => {
        // A URL leaves the usual port of http out.
        const { protocol, port } = new URL(url)
        const address =
          protocol === 'https:' ? this.#https.address : (this.#ports?.addressOf(Number(port || 80)) ?? null)
        if (address === null) throw new Error('The gateway does not listen there.')
        return dialAsClient({ url: new URL(url), address, proxies: listener.proxies, signal })
      },
    })
  }

  /**
   * Begins to listen.
   *
   * @throws Error with a sentence for people
   */
  async start(): Promise<void> {
    const { control, http, https, domain } = this.#config
    const isNamed = domain !== undefined
    if (isNamed && https.enabled) await named('https', this.#https.listen(https.host, https.port))
    if (isNamed && http.enabled) await named('http', this.#http.listen(http.host, http.port))
    await this.#ports?.openAll()
    await named('control', listen(this.#control, control.host, control.port))
  }

  /** Tells the nodes about their names and ports. Call it when a name of a node has changed. */
  async renew(nodeId: string): Promise<void> {
    const session = this.#nodes.find(nodeId)
    if (session !== null) await this.#welcome(session)
  }

  /** Returns the URL of a host name, without a path. */
  urlOf(host: string): string {
    return this.#addresses.httpsUrl(host)
  }

  /** Whether a node keeps its tunnel open now. */
  isConnected(nodeId: string): boolean {
    return this.#nodes.find(nodeId) !== null
  }

  /** The ports in use. */
  get listening() {
    return { control: this.#control.address(), http: this.#http.address, https: this.#https.address }
  }

  /** Takes no more connections and tells the nodes. Clients have some time to finish; then everything is closed. */
  async stop(): Promise<void> {
    this.#control.close()
    this.#http.close()
    this.#https.close()
    this.#ports?.close()
    this.#nodes.tellAll({ type: 'stopping' })
    await this.#clients.drain(this.#config.drainSeconds * 1000)
    await this.#handshakes.drain(0)
    this.#nodes.end()
    this.#services.portTable?.close()
  }

  async #takeConnection({ socket, from, nodeId, line }: NodeConnection): Promise<void> {
    switch (line.purpose) {
      case 'control': {
        const { version, instance, endsTls, host } = line
        const process = { nodeId, instance, endsTls, host, addressGroup: addressGroup(from.address) }
        if (version === tunnelVersion) await this.#nodes.arrive(socket, process)
        else
          refuse(
            socket,
            `The gateway speaks version ${tunnelVersion} of the protocol. Update the node or the gateway.`,
          )
        break
      }
      case 'data':
        this.#nodes.addConnection(socket, nodeId, line.instance)
        break
      case 'api':
        if (this.#clients.enter(socket, from.address) === null) {
          socket.destroy()
          return
        }
        this.#services.connections.serve({
          socket,
          remoteAddress: from.address,
          remotePort: from.port,
          encrypted: true,
          serverName: null,
        })
    }
  }

  async #welcome(session: NodeSession): Promise<void> {
    const { nodeId } = session.process
    const port = (await this.#ports?.portOf(session.process)) ?? 0
    if (this.#nodes.find(nodeId) !== session) return
    const urls = this.#addresses.urlsOf(session.process, port)
    session.send({ type: 'welcome', port, urls })
    this.#reachability.watch(session, urls)
  }
}

async function named(listener: string, listening: Promise<unknown>): Promise<void> {
  try {
    await listening
  } catch (cause) {
    throw new Error(`The gateway cannot listen: ${(cause as Error).message}. Change "gateway.${listener}".`, {
      cause,
    })
  }
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
