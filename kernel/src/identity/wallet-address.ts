import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/**
 * Reads a wallet address.
 *
 * @returns it in the mixed case of EIP-55; `null` when it is no address, or has mixed case that is not its checksum
 */
export function parseWallet(text: string): string | null {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return null
  const digits = text.slice(2)
  const wallet = checksummed(digits.toLowerCase())
  const oneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  return oneCase || wallet === text ? wallet : null
}

/**
 * A wallet of the configuration in the mixed case of EIP-55.
 *
 * @throws Error for what is no address; the configuration's validation lets none pass
 */
export function configuredWallet(text: string): string {
  const wallet = parseWallet(text)
  if (wallet === null) throw new Error(`The configuration has ${text}, which is no wallet address (EIP-55).`)
  return wallet
}

/** EIP-55: a letter is upper case where the Keccak-256 of the lower case digits has a digit of 8 or more. */
function checksummed(digits: string): string {
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)))
  return `0x${[...digits].map((digit, i) => (Number.parseInt(hash.charAt(i), 16) >= 8 ? digit.toUpperCase() : digit)).join('')}`
}
