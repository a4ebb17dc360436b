import { addressOf, signText } from '@nodekeep/login-siwe/client'
import type { Sign } from '../wallet-proof.ts'

/** Returns the address of a private key, and a function that signs with it as a wallet does. */
export function signerOf(key: Uint8Array): readonly [address: string, sign: Sign] {
  return [addressOf(key), async (message) => signText(key, message)]
}
