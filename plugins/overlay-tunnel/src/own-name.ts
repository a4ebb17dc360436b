import { isIP } from 'node:net'

/** The name of the node at its gateway: a subdomain of the gateway's domain. */
export interface OwnName {
  /** As people write it: `me.example.org`, or `me.example.org:8443` where https has another port than 443. */
  readonly host: string
  /** The subdomain alone: `me`. */
  readonly subdomain: string
  /** The host of the gateway's own API: `example.org`, with the same port. */
  readonly gatewayHost: string
  /** `https://me.example.org` */
  readonly origin: string
}

/**
 * Reads `me.example.org` or `me.example.org:8443`.
 *
 * @throws Error with a sentence for people
 */
export function ownName(text: string): OwnName {
  const url = URL.parse(`https://${text}`)
  const [, subdomain, gatewayHost] = /^([^.]+)\.([^.].*)$/.exec(url?.host ?? '') ?? []
  const isName = url !== null && url.host === text.toLowerCase() && isIP(url.hostname) === 0
  if (!isName || subdomain === undefined || gatewayHost === undefined) {
    throw new Error(
      '"overlay-tunnel.name" must be the whole name of the node at its gateway, such as "me.example.org", or "me.example.org:8443" if the port of https is not 443.',
    )
  }
  return { host: url.host, subdomain, gatewayHost, origin: url.origin }
}
