import { isIP, isIPv6, SocketAddress } from 'node:net'

/**
 * Returns the group of a client address, which limits count by. A client with one IPv6 address usually has the /64
 * around it, so that is one group.
 *
 * @param address from the socket or a trusted proxy. Everything that is not an IP address is one group.
 */
export function addressGroup(address: string | undefined): string {
  if (address === undefined || !isIP(address)) return 'unknown'
  if (!isIPv6(address)) return address
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(canonical)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = canonical.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}
