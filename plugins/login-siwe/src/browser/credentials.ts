import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { checksumAddress, siweMessage } from './message.ts'

/** The answer to `GET /auth/siwe/nonce`. */
export type NonceAnswer = Omit<NodeAnswers['GET /auth/siwe/nonce'], 'issuedAt'> & {
  /** ISO 8601. Nodes of former versions do not tell it. */
  readonly issuedAt?: string
}

/** The body of `POST /auth/siwe`. To claim a new node, add the claim code as `claim`. */
export interface SiweCredentials {
  /** The account id in the form of CAIP-10. */
  readonly uuid: string
  /** In EIP-55 form. */
  readonly address: string
  readonly token: string
}

/** Values that replace those of the node. */
export interface SiweOptions {
  /** The chain of a smart-contract wallet, if the node has several chains. */
  readonly chainId?: number
  /** Default: the time of the node, so that neither its clock nor that of the device must be right. */
  readonly issuedAt?: Date
}

/**
 * Lets a wallet sign, and makes the body of the sign-in.
 *
 * @param address the wallet's address, `0x` and 40 hexadecimal digits in any case
 * @param sign asks the wallet to sign the text (EIP-191, `personal_sign`); resolves to `0x` and hexadecimal digits
 * @example
 * const answer = await (await fetch(`${node}/auth/siwe/nonce`)).json()
 * const [address] = await ethereum.request({ method: 'eth_requestAccounts' })
 * const sign = (message) => ethereum.request({ method: 'personal_sign', params: [message, address] })
 * const body = JSON.stringify(await siweCredentials(answer, address, sign))
 * await fetch(`${node}/auth/siwe`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
 */
export async function siweCredentials(
  answer: NonceAnswer,
  address: string,
  sign: (message: string) => string | Promise<string>,
  { chainId = answer.chainId, issuedAt = new Date(answer.issuedAt ?? Date.now()) }: SiweOptions = {},
): Promise<SiweCredentials> {
  const message = siweMessage({ ...answer, chainId, address, issuedAt })
  const signature = (await sign(message)).toLowerCase()
  const checksummed = checksumAddress(address)
  return {
    uuid: `eip155:${chainId}:${checksummed}`,
    address: checksummed,
    token: base64url(JSON.stringify({ message, signature })),
  }
}

function base64url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte))
  return btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
