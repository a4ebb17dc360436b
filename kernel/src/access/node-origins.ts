import { isIP, isIPv6 } from 'node:net'
import type { Duplex } from 'node:stream'
import { invalid, type NodeAddress, type NodekeepError } from '@nodekeep/plugin-sdk'
import { isLoopback } from '@nodekeep/plugin-sdk/loopback'
import type { FastifyRequest } from 'fastify'
import type { KernelConfiguration } from '../configuration/kernel-schema.ts'
import { externalConnectionOf } from '../http/external-connection.ts'
import type { RegistryEntries } from '../services/registry.ts'

/** The part of the configuration that names the addresses of the node. */
export type AddressConfiguration = Pick<
  KernelConfiguration['server'],
  'host' | 'hostnames' | 'publicUrl' | 'cors'
>

/** A request, whose `protocol` is any text that a trusted proxy sent. Fastify's types promise more. */
type AddressedRequest = Pick<FastifyRequest, 'host' | 'headers' | 'ips'> & {
  readonly protocol: string
  readonly raw: { readonly socket: Duplex }
}

/** The origins under which clients reach the node: at home, on the local network, and from outside. */
export class NodeOrigins implements NodeAddress {
  readonly #names: ReadonlySet<string>
  readonly #local: string
  readonly #configured: readonly string[]
  readonly #foreign: ReadonlySet<string>
  readonly #added: Pick<RegistryEntries, 'names' | 'get'>
  #port: URL | null = null

  /** @param added the registry of the origins that plugins have added */
  constructor(
    { host, hostnames, publicUrl = [], cors }: AddressConfiguration,
    added: Pick<RegistryEntries, 'names' | 'get'>,
  ) {
    this.#names = new Set(hostnames.map(asInUrl))
    this.#local = asInUrl(host)
    this.#configured = [publicUrl].flat()
    this.#foreign = new Set(cors.origins.map((url) => new URL(url).origin))
    this.#added = added
  }

  /** The node listens. */
  listensAt(url: URL): void {
    this.#port = url
  }

  local(): URL | null {
    return this.#port
  }

  publicOrigins(): string[] {
    const added = this.#added.names().map((name) => String(this.#added.get(name)))
    const urls = [...this.#configured, ...added].map((url) => URL.parse(url))
    // The origin of every other scheme is "null", which any sandboxed page has too.
    return urls.flatMap((url) => (url !== null && /^https?:$/.test(url.protocol) ? url.origin : []))
  }

  /**
   * Whether pages of an origin may use a user's cookie although the request names another host: a proxy may forward another
   * Host than the browser sent, and the configuration names sites that may call the node.
   */
  isTrusted(origin: string): boolean {
    return this.#foreign.has(origin) || this.publicOrigins().includes(origin)
  }

  originOf(request: AddressedRequest): URL {
    const origin = this.#find(request)
    if (origin === null) throw unknownName(request, this.publicOrigins())
    return origin
  }

  /** Whether the client of a request uses TLS. If the Host is not a name of the node, the request's scheme decides. */
  isEncrypted(request: AddressedRequest): boolean {
    return (this.#find(request)?.protocol ?? schemeOf(request)) === 'https:'
  }

  /**
   * Whether a request came to a public https origin at the port of https. Of that name, browsers need never try http again. They would
   * not do so at any other port of it either (RFC 6797, section 8.3), where another program of the owner may answer without TLS. So an
   * origin with a port of its own does not count, and neither do names for home.
   */
  cameByHttpsName(request: AddressedRequest): boolean {
    if (schemeOf(request) !== 'https:') return false
    const host = request.host.toLowerCase()
    return (
      this.publicOrigins().includes(`https://${host}`) &&
      !host.includes(':') &&
      isIP(host) === 0 &&
      !isLoopback(host)
    )
  }

  #find(request: AddressedRequest): URL | null {
    const { host } = request
    const scheme = schemeOf(request)
    const known = this.publicOrigins().map((origin) => new URL(origin))
    const meant = known.filter((origin) => parseHost(origin.protocol, host)?.origin === origin.origin)
    const exact = meant.find((origin) => origin.protocol === scheme)
    if (exact !== undefined) return exact
    // A proxy that is not trusted may have TLS although the request says http. The host decides which origin it is. A
    // connection that a plugin handed over says itself whether its client has TLS.
    if (meant[0] !== undefined) return externalConnectionOf(request.raw) === undefined ? meant[0] : null
    const url = parseHost(scheme, host)
    if (url === null) return null
    if (this.#names.has(url.hostname)) return url
    const isLocal = isLoopback(url.hostname) || url.hostname === this.#local
    return isLocal && !cameFromOutside(request) ? url : null
  }
}

/** Proxies name the scheme as they like: Traefik says `wss` for a WebSocket, and some pass on what a client wrote. */
function schemeOf({ protocol }: Pick<AddressedRequest, 'protocol'>): 'http:' | 'https:' {
  return ['https', 'wss'].includes(protocol) ? 'https:' : 'http:'
}

/** Returns the origin that a Host names, `null` for one that is malformed or not in its one spelling. */
function parseHost(protocol: string, host: string): URL | null {
  const url = URL.parse(`${protocol}//${host}`)
  return url !== null && url.host === host.toLowerCase() ? url : null
}

/**
 * Whether a trusted proxy forwarded the request, or a plugin handed its connection over. Its client may be anywhere, so it
 * cannot mean this machine by a loopback name.
 */
function cameFromOutside(request: AddressedRequest): boolean {
  return cameThroughProxy(request) || externalConnectionOf(request.raw) !== undefined
}

function cameThroughProxy({ ips = [], host, headers }: AddressedRequest): boolean {
  return ips.length > 1 || host !== headers.host
}

/** Returns the one spelling of a host that a URL uses. */
function asInUrl(name: string): string {
  return URL.parse(`http://${isIPv6(name) ? `[${name}]` : name}`)?.hostname ?? name.toLowerCase()
}

function unknownName(request: AddressedRequest, publicOrigins: readonly string[]): NodekeepError {
  const { host } = request
  const url = URL.parse(`http://${host}`)
  // Only the port may be another one than that of "server.publicUrl".
  const isOtherPort = publicOrigins.some((origin) => new URL(origin).hostname === url?.hostname)
  const name = ((isOtherPort ? url?.host : url?.hostname) ?? host).slice(0, 100)
  const where = externalConnectionOf(request.raw) === undefined ? '' : ' outside of its own network'
  const problem = cameThroughProxy(request)
    ? `The proxy named the node "${name}", which is no name of it from outside. A proxy must pass the Host of its client on.`
    : `The node does not go by the name "${name}"${where}.`
  const remedy = 'The owner can add a name to "server.hostnames", or its origin to "server.publicUrl".'
  return invalid(`${problem} ${remedy}`)
}
