import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type ClientConnections, NodekeepError } from '@nodekeep/plugin-sdk'
import { type CertificateFiles, challengeProtocol, unrecognizedName } from '@nodekeep/plugin-sdk/server-tls'
import { readHead, tunnelProtocol } from '@nodekeep/plugin-sdk/tunnel'
import { type Addresses, portUrl } from '../addresses/addresses.ts'
import { closeWith } from '../connections/close-with.ts'
import type { Visit } from '../connections/public-listener.ts'
import type { NodeSession } from '../tunnels/node-session.ts'
import type { Nodes } from '../tunnels/nodes.ts'
import type { TunnelServer } from '../tunnels/tunnel-server.ts'
import { type ClientHello, maxClientHelloBytes, peekClientHello } from './client-hello.ts'
import { type ErrorAnswers, nodeAway, nodeBusy, noSuchNode } from './error-answers.ts'
import { forwardToAddress } from './forward-to-address.ts'

interface ClientRouterServices {
  readonly addresses: Addresses
  readonly nodes: Nodes
  readonly certificate: CertificateFiles | null
  /** The gateway's own API. */
  readonly connections: ClientConnections
  readonly tunnel: TunnelServer
  readonly errors: ErrorAnswers
  readonly helloMs: number
  readonly ownAddresses: Parameters<typeof forwardToAddress>[2]
}

const httpsOnly = new NodekeepError(
  'VALIDATION_ERROR',
  'This port takes https only: the address begins with https://.',
)

/** Forwards each connection to the node that its first bytes name. It inspects no byte after those. */
export class ClientRouter {
  readonly #services: ClientRouterServices

  constructor(services: ClientRouterServices) {
    this.#services = services
  }

  /** Routes a connection to the https port: by the name that the client asks for. */
  async routeHttps(visit: Visit): Promise<void> {
    const { tunnel, errors } = this.#services
    const hello = await this.#readHello(visit)
    if (hello === null) {
      errors.refuse(visit.socket, httpsOnly)
    } else if (hello.protocols.includes(tunnelProtocol)) {
      visit.leave()
      await tunnel.accept(visit.socket, visit.client)
    } else if (hello.serverName === null) {
      this.#refuse(visit, hello, noSuchNode())
    } else {
      await this.#routeName(visit, hello, hello.serverName)
    }
  }

  async #routeName(visit: Visit, hello: ClientHello, name: string): Promise<void> {
    const { addresses, ownAddresses } = this.#services
    if (name === addresses.domain) {
      this.#serveApi(visit, name)
      return
    }
    const own = addresses.ownAddressOf(name)
    if (own === null) {
      await this.#routeTls(visit, hello, addresses.ownerOf(name), addresses.httpsUrl(name))
      return
    }
    const refusal = await forwardToAddress(visit.socket, own, ownAddresses)
    if (refusal !== null) this.#refuse(visit, hello, refusalError(refusal))
  }

  /** Routes a connection to the port of a node. */
  async routePort(visit: Visit, nodeId: string, port: number): Promise<void> {
    const { nodes, errors } = this.#services
    const hello = await this.#readHello(visit)
    const session = nodes.find(nodeId)
    const url = portUrl(session?.process.host ?? 'localhost', port)
    if (hello !== null) {
      await this.#routeTls(visit, hello, nodeId, url)
      return
    }
    const line = { ...visit.client, serverName: null, protocol: 'http', encrypted: false } as const
    const refusal = session === null ? 'away' : await session.forward(visit.socket, line, url)
    if (refusal !== null) errors.refuse(visit.socket, refusalError(refusal))
  }

  /** @returns the first message of a client of TLS, `null` for other clients */
  #readHello({ socket }: Visit): Promise<ClientHello | null> {
    const { helloMs } = this.#services
    return readHead(socket, peekClientHello, { maxBytes: maxClientHelloBytes, withinMs: helloMs })
  }

  /** @param owner the node that the address belongs to */
  async #routeTls(visit: Visit, hello: ClientHello, owner: string | null, url: string): Promise<void> {
    if (owner === null) {
      this.#refuse(visit, hello, noSuchNode())
      return
    }
    const session = this.#services.nodes.find(owner)
    if (session === null) {
      this.#refuse(visit, hello, nodeAway())
    } else if (session.process.endsTls || hello.protocols.includes(challengeProtocol)) {
      const { serverName } = hello
      const line = { ...visit.client, serverName, protocol: 'tls', encrypted: true } as const
      const refusal = await session.forward(visit.socket, line, url)
      if (refusal !== null) this.#refuse(visit, hello, refusalError(refusal))
    } else {
      await this.#endTlsFor(session, visit, hello, url)
    }
  }

  /** Ends TLS with the gateway's certificate, for a node that has none. */
  async #endTlsFor(session: NodeSession, visit: Visit, hello: ClientHello, url: string): Promise<void> {
    const { addresses, errors } = this.#services
    const { serverName } = hello
    const isItsName = serverName !== null && addresses.ownerOf(serverName) === session.process.nodeId
    const socket = isItsName ? this.#endTls(visit.socket) : null
    if (socket === null) {
      closeWith(visit.socket, unrecognizedName)
      return
    }
    await this.#firstByte(socket)
    const line = { ...visit.client, serverName, protocol: 'http', encrypted: true } as const
    const refusal = await session.forward(socket, line, url)
    if (refusal !== null) errors.refuse(socket, refusalError(refusal))
  }

  /** Answers over TLS where the gateway has a certificate, otherwise with an alert. */
  #refuse({ socket }: Visit, { protocols }: ClientHello, error: NodekeepError): void {
    const inner = protocols.includes(challengeProtocol) ? null : this.#endTls(socket)
    if (inner === null) closeWith(socket, unrecognizedName)
    else this.#services.errors.refuse(inner, error)
  }

  #serveApi({ socket, client }: Visit, serverName: string): void {
    const inner = this.#endTls(socket)
    if (inner === null) {
      closeWith(socket, unrecognizedName)
      return
    }
    const { address, port } = client
    this.#services.connections.serve({
      socket: inner,
      remoteAddress: address,
      remotePort: port,
      encrypted: true,
      serverName,
    })
  }

  /** @returns the connection within TLS, `null` if the gateway has no certificate */
  #endTls(socket: Socket): TLSSocket | null {
    const secureContext = this.#services.certificate?.current?.context
    if (secureContext === undefined) return null
    const inner = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] })
    // A failure also closes the connection.
    inner.on('error', () => {})
    return inner
  }

  /** Waits until the handshake is complete and the client has sent something. */
  async #firstByte(socket: TLSSocket): Promise<void> {
    const something = (bytes: Buffer) => ({ value: bytes.length, length: 0 })
    await readHead(socket, something, { maxBytes: 1, withinMs: this.#services.helloMs })
  }
}

function refusalError(refusal: 'away' | 'busy'): NodekeepError {
  return refusal === 'away' ? nodeAway() : nodeBusy()
}
