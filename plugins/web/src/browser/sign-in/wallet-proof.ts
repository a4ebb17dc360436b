import { type SiweCredentials, siweCredentials } from '@nodekeep/login-siwe/client'
import { accepted } from '../refusal.ts'

/** Signs a text by `personal_sign` (EIP-191). Resolves to `0x` and hexadecimal digits. */
export type Sign = (message: string) => Promise<string>

/**
 * Proves a wallet to the node, once.
 *
 * @throws Refusal if the node refuses; errors of `sign`
 */
export async function walletProof(address: string, sign: Sign): Promise<SiweCredentials> {
  const nonce = await (await accepted(await fetch('/auth/siwe/nonce', { cache: 'no-store' }))).json()
  return siweCredentials(nonce, address, sign)
}
