import { misunderstood } from './failures.ts'

/** The part of a user at Particle Network that a sign-in needs. */
export interface UserInfo {
  readonly uuid: string
  /** Addresses of the user's wallets on chains of the EVM. */
  readonly evmAddresses: readonly string[]
}

/**
 * Reads the result of `getUserInfo`: `{ uuid, wallets: [{ chain, publicAddress }], … }`, where `chain` is `evm_chain` or
 * another kind such as `solana`. Names and mail addresses in it are left alone.
 *
 * @throws NodekeepError UPSTREAM_ERROR when it has another form
 */
export function readUserInfo(result: unknown): UserInfo {
  const { uuid, wallets } = (result ?? {}) as Record<string, unknown>
  if (typeof uuid !== 'string') throw misunderstood('the user has no uuid')
  if (!Array.isArray(wallets)) throw misunderstood('the user has no list of wallets')
  return { uuid, evmAddresses: wallets.flatMap(evmAddress) }
}

function evmAddress(wallet: unknown): string[] {
  const { chain, publicAddress } = (wallet ?? {}) as Record<string, unknown>
  if (typeof chain !== 'string' || typeof publicAddress !== 'string') {
    throw misunderstood('a wallet has no chain or no address')
  }
  return chain === 'evm_chain' ? [publicAddress] : []
}
