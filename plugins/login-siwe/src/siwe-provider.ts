import {
  type LoginCircumstances,
  type LoginCredentials,
  type LoginProvider,
  NodekeepError,
  type VerifiedLogin,
} from '@nodekeep/plugin-sdk'
import { accountId, readAccount, readAddress } from './account.ts'
import type { SiweConfig } from './config.ts'
import { ContractWallets } from './contract-wallets.ts'
import { type Ethereum, loadEthereum } from './ethereum.ts'
import { createJsonRpc } from './json-rpc.ts'
import { nonceOf, readMessage, type SignInMessage } from './message.ts'
import { checkDomain, checkMessage } from './message-checks.ts'
import type { Nonces } from './nonces.ts'
import { isSignedByKey } from './signer.ts'
import { readToken } from './token.ts'

/** Verifies wallets by the EIP-4361 message that they signed. */
export class SiweProvider implements LoginProvider {
  readonly #config: SiweConfig
  readonly #nonces: Nonces
  readonly #contractWallets: ReadonlyMap<number, ContractWallets>

  constructor(config: SiweConfig, nonces: Nonces) {
    this.#config = config
    this.#nonces = nonces
    this.#contractWallets = new Map(
      Object.entries(config.rpcUrls).map(([chain, url]) => [
        Number(chain),
        new ContractWallets(Number(chain), createJsonRpc(url, config.rpcTimeoutMs)),
      ]),
    )
  }

  async verify(credentials: LoginCredentials, circumstances: LoginCircumstances): Promise<VerifiedLogin> {
    circumstances.signal.throwIfAborted()
    const { message: text, signature } = readToken(credentials.token)
    checkDomain(text, circumstances.origin)
    if (!(await this.#nonces.isOutstanding(nonceOf(text)))) throw unknownNonce()
    const ethereum = await loadEthereum()
    const message = readMessage(text, ethereum)
    this.#checkMessage(message, circumstances.origin)
    const account = agreedAccount(credentials, message, ethereum)
    if (!(await this.#nonces.consume(message.nonce))) throw unknownNonce()
    if (!isSignedByKey(text, signature, message.address, ethereum)) {
      await this.#checkContract(message, signature, ethereum, circumstances.signal)
    }
    return { uuid: accountId(account), address: account.address }
  }

  #checkMessage(message: SignInMessage, origin: URL): void {
    const { chainId, maxAgeSeconds, clockSkewSeconds } = this.#config
    checkMessage(message, {
      origin,
      chainIds: new Set([chainId, ...this.#contractWallets.keys()]),
      now: new Date(),
      maxAgeMs: maxAgeSeconds * 1000,
      clockSkewMs: clockSkewSeconds * 1000,
    })
  }

  async #checkContract(
    { text, address, chainId }: SignInMessage,
    signature: string,
    ethereum: Ethereum,
    signal: AbortSignal,
  ): Promise<void> {
    const wallets = this.#contractWallets.get(chainId)
    if (wallets === undefined) {
      throw refused(
        `The signature does not come from the key of ${address}. The wallets of smart contracts need "rpcUrls" of their chain in the configuration.`,
      )
    }
    const signed = { address, hash: ethereum.ethers.hashMessage(text), signature }
    if (await wallets.hasSigned(signed, ethereum, signal)) return
    throw refused(`The signature comes neither from the key nor from the contract of ${address}.`)
  }
}

/** The account, if the request's address, its uuid and the message all mean the same one. */
function agreedAccount({ uuid, address }: LoginCredentials, message: SignInMessage, ethereum: Ethereum) {
  if (readAddress(address, 'address', ethereum) !== message.address) {
    throw refused('"address" is not the address in the message.')
  }
  const account = readAccount(uuid, ethereum)
  if (account.chainId !== message.chainId || account.address !== message.address) {
    throw refused('"uuid" is not the account of the message: eip155, its chain id and its address.')
  }
  return account
}

function unknownNonce(): NodekeepError {
  return refused('The nonce of the message is unknown, used or too old. Ask for a new one and sign again.')
}

function refused(why: string): NodekeepError {
  return new NodekeepError('UNAUTHORIZED', why)
}
