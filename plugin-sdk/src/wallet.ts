import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/**
 * Reads a wallet address: `0x` and 40 hexadecimal digits, in one case or in the mixed case of EIP-55.
 *
 * @returns the address in the mixed case of EIP-55; `null` for anything else, such as a wrong checksum
 */
export function parseWallet(text: string): string | null {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return null
  const digits = text.slice(2)
  const wallet = checksummed(digits.toLowerCase())
  const oneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  return oneCase || wallet === text ? wallet : null
}

/** EIP-55: a letter is upper case where the Keccak-256 of the lower-case digits has a digit of 8 or more. */
function checksummed(digits: string): string {
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)))
  return `0x${[...digits].map((digit, i) => (Number.parseInt(hash.charAt(i), 16) >= 8 ? digit.toUpperCase() : digit)).join('')}`
}
