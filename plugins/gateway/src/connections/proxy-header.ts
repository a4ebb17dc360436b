import { type BlockList, isIPv4, isIPv6, SocketAddress } from 'node:net'
import type { HeadParser } from '@nodekeep/plugin-sdk/tunnel'

/** The address of a client. */
export interface ClientAddress {
  readonly address: string
  readonly port: number
}

/** The header has 16 bytes, and addresses and extensions after them. Proxies send far fewer than this. */
export const maxProxyHeaderBytes = 16 + 1024

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const local = 0x20
const proxied = 0x21

const textBegin = Buffer.from('PROXY ', 'latin1')
/** Bytes of a whole header of version 1, at most. */
const maxTextBytes = 107

/**
 * Parses a header of the PROXY protocol (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt, sections 2.1 and 2.2), version
 * 2 or version 1, which is the only one that nginx sends. The value is the address of the client, or `null` if the proxy speaks
 * for itself, as for a health check.
 */
export const proxyHeader: HeadParser<ClientAddress | null> = (bytes) =>
  bytes[0] === textBegin[0] ? textHeader(bytes) : binaryHeader(bytes)

const textHeader: HeadParser<ClientAddress | null> = (bytes) => {
  expectBegin(bytes, textBegin)
  const end = bytes.subarray(0, maxTextBytes).indexOf('\r\n')
  if (end === -1) {
    if (bytes.length >= maxTextBytes)
      throw new Error('The proxy sent a header of the PROXY protocol that is too long.')
    return null
  }
  const [, family = '', address = '', , port = ''] = bytes.toString('latin1', 0, end).split(' ')
  const length = end + 2
  if (family === 'UNKNOWN') return { value: null, length }
  const isRight = { TCP4: isIPv4, TCP6: isIPv6 }[family]
  if (isRight === undefined || !isRight(address) || !(/^\d{1,5}$/.test(port) && Number(port) < 65_536)) {
    throw new Error('The proxy sent the PROXY protocol for something else than TCP over IP.')
  }
  return { value: { address: canonical(address), port: Number(port) }, length }
}

const binaryHeader: HeadParser<ClientAddress | null> = (bytes) => {
  expectBegin(bytes, signature)
  if (bytes.length < 16) return null
  const [command = 0, family = 0] = bytes.subarray(12)
  const length = 16 + bytes.readUInt16BE(14)
  if (length > maxProxyHeaderBytes)
    throw new Error('The proxy sent a header of the PROXY protocol that is too long.')
  if (bytes.length < length) return null
  if (command === local) return { value: null, length }
  if (command !== proxied) throw new Error('The proxy sent an unknown command of the PROXY protocol.')
  return { value: source(bytes.subarray(16, length), family), length }
}

function expectBegin(bytes: Buffer, begin: Buffer): void {
  const begun = bytes.subarray(0, begin.length)
  if (!begun.equals(begin.subarray(0, begun.length))) {
    throw new Error('The proxy sent no header of the PROXY protocol.')
  }
}

function source(addresses: Buffer, family: number): ClientAddress | null {
  if (family === 0x11 && addresses.length >= 12) {
    return { address: [...addresses.subarray(0, 4)].join('.'), port: addresses.readUInt16BE(8) }
  }
  if (family === 0x21 && addresses.length >= 36) {
    const groups = Array.from({ length: 8 }, (_, at) => addresses.readUInt16BE(at * 2).toString(16))
    return { address: canonical(groups.join(':')), port: addresses.readUInt16BE(32) }
  }
  throw new Error('The proxy sent the PROXY protocol for something else than TCP over IP.')
}

/** Returns an IP address in the form in which sockets tell it. */
function canonical(address: string): string {
  return isIPv4(address) ? address : new SocketAddress({ address, family: 'ipv6' }).address
}

/** Writes such a header of the command LOCAL: the connection is of the sender itself. */
export function localProxyHeader(): Buffer {
  return Buffer.concat([signature, Buffer.of(local, 0, 0, 0)])
}

/** Returns an address in its usual form: IPv4 addresses that arrive at a socket of IPv6 are IPv4 addresses. */
export function plainAddress(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  return mapped !== undefined && isIPv4(mapped) ? mapped : address
}

/** Whether an address is in a list of addresses and networks. */
export function isWithin(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}
