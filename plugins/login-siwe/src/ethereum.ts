import { createRequire } from 'node:module'

/** The libraries behind a sign-in. */
export interface Ethereum {
  readonly SiweMessage: typeof import('siwe').SiweMessage
  readonly ethers: typeof import('ethers')
  /**
   * The public key, 65 bytes, of who signed 32 bytes. It throws where there is none.
   *
   * @param signature the parity of R's y (0 or 1), r and s: 65 bytes
   */
  readonly recoverPublicKey: (signature: Uint8Array, digest: Uint8Array) => Uint8Array
}

let loading: Promise<Ethereum> | undefined

/**
 * Loads the libraries once. That takes about 100 ms, which no start of a node has to wait for.
 *
 * siwe requires ethers, and gets its CommonJS files; importing ethers would load it for a second time. ox brings
 * libsecp256k1 as WebAssembly, which recovers a key twenty times as fast as ethers does.
 */
export function loadEthereum(): Promise<Ethereum> {
  loading ??= load()
  return loading
}

async function load(): Promise<Ethereum> {
  const [{ SiweMessage }, { engine }] = await Promise.all([import('siwe'), import('ox/wasm/Secp256k1')])
  const ethers = createRequire(import.meta.url)('ethers') as typeof import('ethers')
  const { recoverPublicKey } = await engine()
  return { SiweMessage, ethers, recoverPublicKey }
}
