import { siweCredentials } from '@nodekeep/login-siwe/client'
import { accepted } from '../refusal.ts'

/**
 * Signs in with the signature of a wallet. The node sets the session as a cookie that scripts cannot read.
 *
 * @param claim the claim code, or an empty text
 * @throws Refusal if the node refuses; errors of `sign`
 */
export async function signInWithWallet(
  address: string,
  sign: (message: string) => Promise<string>,
  claim: string,
): Promise<void> {
  const nonce = await (await accepted(await fetch('/auth/siwe/nonce', { cache: 'no-store' }))).json()
  const credentials = await siweCredentials(nonce, address, sign)
  const body = JSON.stringify({ ...credentials, ...(claim !== '' && { claim }) })
  const headers = { 'content-type': 'application/json' }
  await accepted(await fetch('/auth/siwe', { method: 'POST', headers, body }))
}
