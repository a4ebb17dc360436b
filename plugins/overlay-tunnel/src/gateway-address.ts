/** Where a gateway listens. */
export interface GatewayAddress {
  /** A name or an IP address, without brackets. */
  readonly host: string
  readonly port: number
}

const defaultPort = 8090

/**
 * Reads `gateway.example.org`, `gateway.example.org:443`, `192.0.2.1` or `[2001:db8::1]:443`.
 *
 * @throws Error with a sentence for people
 */
export function gatewayAddress(text: string): GatewayAddress {
  // URL leaves the case of a host as it is, except for the protocols of the web.
  const host = text.toLowerCase()
  const url = URL.parse(`tunnel://${host}`)
  if (url === null || url.host !== host || url.hostname === '') {
    throw new Error(
      `"overlay-tunnel.gateway" must be a host with or without a port, such as "gateway.example.org" or "gateway.example.org:443".`,
    )
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? defaultPort : Number(url.port),
  }
}
