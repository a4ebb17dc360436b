import { addressGroup } from '@nodekeep/plugin-sdk'

/**
 * Returns the network of a client address, for the list of uses: it tells a maker whether several guests came, without naming a device.
 * The last number of an IPv4 address is left out, and all but the first 48 bits of an IPv6 address.
 *
 * @example networkOf('203.0.113.7') // '203.0.113.0/24'
 */
export function networkOf(address: string | undefined): string {
  const group = addressGroup(address)
  const parts = /^(\d+\.\d+\.\d+)\.\d+$/.exec(group)
  if (parts !== null) return `${parts[1]}.0/24`
  return group.endsWith('/64') ? `${group.split(':').slice(0, 3).join(':')}::/48` : group
}
