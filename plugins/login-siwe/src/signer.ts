import type { Ethereum } from './ethereum.ts'

/**
 * Whether a personal signature (EIP-191) over the exact text comes from the key of an address.
 *
 * A signature is 65 bytes: r, s in the lower half of the order (EIP-2), and 27 or 28, for which some wallets write 0
 * or 1. Anything else is no signature of a key.
 *
 * @param signature `0x` and hexadecimal digits in lower case
 */
export function isSignedByKey(
  text: string,
  signature: string,
  address: string,
  { ethers, recoverPublicKey }: Ethereum,
): boolean {
  if (!/^0x[0-9a-f]{128}(?:1b|1c|00|01)$/.test(signature)) return false
  if (BigInt(`0x${signature.slice(66, 130)}`) > ethers.N / 2n) return false
  const yParity = /(?:1c|01)$/.test(signature) ? 1 : 0
  const rs = ethers.getBytes(signature.slice(0, 130))
  try {
    const key = recoverPublicKey(Uint8Array.of(yParity, ...rs), ethers.getBytes(ethers.hashMessage(text)))
    return ethers.computeAddress(ethers.hexlify(key)) === address
  } catch {
    // Not every r is on the curve.
    return false
  }
}
