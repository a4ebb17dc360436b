import { createRequire } from 'node:module'

/** The libraries behind a sign-in. */
export interface Ethereum {
  readonly SiweMessage: typeof import('siwe').SiweMessage
  readonly ethers: typeof import('ethers')
}

let loading: Promise<Ethereum> | undefined

/**
 * Loads the libraries once. That takes about 100 ms, which no start of a node has to wait for.
 *
 * siwe requires ethers, and gets its CommonJS files; importing ethers would load it for a second time.
 */
export function loadEthereum(): Promise<Ethereum> {
  loading ??= import('siwe').then(({ SiweMessage }) => ({
    SiweMessage,
    ethers: createRequire(import.meta.url)('ethers') as typeof import('ethers'),
  }))
  return loading
}
