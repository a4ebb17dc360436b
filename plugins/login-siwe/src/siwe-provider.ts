import {
  invalid,
  type LoginCircumstances,
  type LoginCredentials,
  type LoginProvider,
  NodekeepError,
  parseWallet,
  type VerifiedLogin,
} from '@nodekeep/plugin-sdk'
import type { Configuration } from './configuration.ts'
import { ContractWallets } from './contract-wallets.ts'
import { type Ethereum, isSignedByKey, loadEthereum } from './ethereum.ts'
import { createJsonRpc } from './json-rpc.ts'
import { checkDomain, checkMessage, nonceOf, readMessage, refused, type SignInMessage } from './message.ts'
import type { Nonces } from './nonces.ts'

/** The longest token that is read, in characters. */
const maxTokenLength = 16 * 1024

/** The content of a token. */
interface SignedMessage {
  /** The EIP-4361 text, as the wallet signed it. */
  readonly message: string
  /** `0x` and hexadecimal digits in lower case. */
  readonly signature: string
}

/** Verifies wallets by the EIP-4361 message that they signed. */
export class SiweProvider implements LoginProvider {
  readonly #config: Configuration
  readonly #nonces: Nonces
  readonly #contractWallets: ReadonlyMap<number, ContractWallets>

  constructor(config: Configuration, nonces: Nonces) {
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
    const { origin, signal } = circumstances
    signal.throwIfAborted()
    const { message: text, signature } = readToken(credentials.token)
    checkDomain(text, origin)
    if (!(await this.#nonces.isOutstanding(nonceOf(text), origin.origin))) throw unknownNonce()
    const ethereum = await loadEthereum()
    const message = readMessage(text, ethereum)
    this.#checkMessage(message, origin)
    checkSameWallet(credentials, message)
    if (!isSignedByKey(text, signature, message.address, ethereum)) {
      await this.#checkContract(message, signature, ethereum, signal)
    }
    if (!(await this.#nonces.consume(message.nonce, origin.origin))) throw unknownNonce()
    return { uuid: `eip155:${message.chainId}:${message.address}`, address: message.address }
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

/** Checks that `address`, `uuid` and the message name the same wallet. The uuid is a CAIP-10 account id. */
function checkSameWallet({ uuid, address }: LoginCredentials, message: SignInMessage): void {
  const wallet = parseWallet(address)
  if (wallet === null) {
    throw invalid(
      '"address" must be 0x and 40 hexadecimal digits, in one case or with a correct checksum (EIP-55).',
    )
  }
  if (wallet !== message.address) throw refused('"address" is not the address in the message.')
  const [, chainId, digits = ''] = /^eip155:([1-9][0-9]{0,14}):(0x[0-9a-fA-F]{40})$/.exec(uuid) ?? []
  if (chainId === undefined) {
    throw invalid('"uuid" must be the account id in the form of CAIP-10, such as "eip155:1:0x…".')
  }
  const account = parseWallet(digits)
  if (account === null) {
    throw invalid('The checksum (EIP-55) of the address in "uuid" is wrong: a character may be mistyped.')
  }
  if (Number(chainId) !== message.chainId || account !== message.address) {
    throw refused('"uuid" is not the account id of the message: eip155, its chain id and its address.')
  }
}

function unknownNonce(): NodekeepError {
  return refused(
    'The nonce of the message is unknown, used, too old or of another address of the node. Ask for a new one and sign again.',
  )
}

/**
 * Reads a token: base64url without padding of the JSON text `{ "message": …, "signature": "0x…" }`. Other
 * encodings of the same bytes are refused.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
function readToken(token: string): SignedMessage {
  if (token.length > maxTokenLength) throw unreadable(`it has more than ${maxTokenLength} characters`)
  const bytes = Buffer.from(token, 'base64url')
  if (token === '' || bytes.toString('base64url') !== token) throw unreadable('it is not base64url')
  const { message, signature } = readJson(bytes)
  if (typeof message !== 'string') throw unreadable('its "message" is not a string')
  if (typeof signature !== 'string' || !/^0x(?:[0-9a-f]{2})+$/.test(signature)) {
    throw unreadable('its "signature" is not 0x and pairs of hexadecimal digits in lower case')
  }
  return { message, signature }
}

function readJson(bytes: Buffer): Record<string, unknown> {
  let content: unknown
  try {
    content = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    throw unreadable('it is not JSON')
  }
  if (typeof content !== 'object' || content === null) throw unreadable('it is not a JSON object')
  return content as Record<string, unknown>
}

function unreadable(why: string): NodekeepError {
  return new NodekeepError(
    'VALIDATION_ERROR',
    `The token cannot be read: ${why}. It is base64url of the JSON { "message", "signature" }.`,
  )
}
