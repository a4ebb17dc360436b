import { lookup } from 'node:dns/promises'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import ipaddr from 'ipaddr.js'

/** Returns the IP addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** Asks the system, as every program of this machine does. */
export const resolveBySystem: Resolve = async (hostname) => {
  const found = await lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}

/** The addresses that are in use on the internet (RFC 4291, section 2.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Whether an IP address is one of the internet. The networks of the gateway's own machine and surroundings are not: loopback,
 * private, link-local, shared (RFC 6598), multicast, reserved (RFC 6890), and IPv6 addresses that stand for IPv4 ones.
 */
function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv4 || parsed.match(globalUnicast)
}

/**
 * Returns an IP address of a URL's host. Connect to this address: a second look-up could give another one.
 *
 * @throws NodekeepError VALIDATION_ERROR if there is none, or if any of its addresses is not of the internet
 */
export async function publicAddressOf({ hostname }: URL, resolve: Resolve): Promise<string> {
  const literal = hostname.replace(/^\[|\]$/g, '')
  const addresses = ipaddr.isValid(literal) ? [literal] : await resolve(hostname).catch(() => [])
  const [address] = addresses
  if (address === undefined || !addresses.every(isPublicAddress)) {
    throw new NodekeepError('VALIDATION_ERROR', 'The endpoint has no public address on the internet.')
  }
  return address
}
