import { keccak256OfBlock } from './keccak.ts'

/**
 * The mixed-case form of an address (EIP-55), which EIP-4361 requires and not every wallet gives.
 *
 * @param address `0x` and 40 hexadecimal digits in any case
 * @throws TypeError when it is no address
 */
export function checksumAddress(address: string): string {
  if (!/^0x[0-9a-f]{40}$/i.test(address)) {
    throw new TypeError('A wallet address is 0x and 40 hexadecimal digits.')
  }
  const digits = address.slice(2).toLowerCase()
  const hash = keccak256OfBlock(new TextEncoder().encode(digits))
  const nibble = (index: number) => ((hash[index >> 1] ?? 0) >> (index % 2 === 0 ? 4 : 0)) & 15
  return `0x${Array.from(digits, (digit, index) => (nibble(index) >= 8 ? digit.toUpperCase() : digit)).join('')}`
}
