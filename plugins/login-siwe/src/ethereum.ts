import { createRequire } from 'node:module'

/** The libraries behind a sign-in. */
export interface Ethereum {
  readonly SiweMessage: typeof import('siwe').SiweMessage
  readonly ethers: typeof import('ethers')
}

let loading: Promise<Ethereum> | undefined

/**
 * Loads the libraries once. That takes about 100 ms, so it does not happen while a node starts.
 *
 * siwe requires the CommonJS files of ethers; an import of ethers would load it a second time.
 */
export function loadEthereum(): Promise<Ethereum> {
  loading ??= load()
  return loading
}

async function load(): Promise<Ethereum> {
  const { SiweMessage } = await import('siwe')
  return { SiweMessage, ethers: createRequire(import.meta.url)('ethers') as typeof import('ethers') }
}

/**
 * Tells whether a personal signature (EIP-191) over the exact text comes from the key of an address.
 *
 * A signature is 65 bytes: r, s in the lower half of the order (EIP-2), and v of 27 or 28, for which some wallets write 0
 * or 1. Any other bytes are not the signature of a key.
 *
 * @param signature `0x` and hexadecimal digits in lower case
 */
export function isSignedByKey(
  text: string,
  signature: string,
  address: string,
  { ethers }: Ethereum,
): boolean {
  if (!/^0x[0-9a-f]{128}(?:1b|1c|00|01)$/.test(signature)) return false
  if (BigInt(`0x${signature.slice(66, 130)}`) > ethers.N / 2n) return false
  try {
    return ethers.verifyMessage(text, signature) === address
  } catch {
    // Not every r is on the curve.
    return false
  }
}
