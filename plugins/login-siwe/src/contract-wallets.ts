import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Ethereum } from './ethereum.ts'
import type { JsonRpc } from './json-rpc.ts'

/** A signature that the contract at an address is to check. */
interface ContractSignature {
  readonly address: string
  /** Hash of the signed message (EIP-191). */
  readonly hash: string
  /** `0x` and hexadecimal digits in lower case. */
  readonly signature: string
}

/** The selector of `isValidSignature(bytes32,bytes)`, and its result for a valid signature, padded to a word (ERC-1271). */
const selector = '0x1626ba7e'
const valid = selector.padEnd(66, '0')

/** The last 32 bytes of a signature of a wallet that may not be deployed yet (ERC-6492). */
const predeploySuffix = '6492'.repeat(16)

/** Asks the contracts of one chain whether a signature is valid. */
export class ContractWallets {
  readonly #chainId: number
  readonly #rpc: JsonRpc
  #isRightChain = false

  constructor(chainId: number, rpc: JsonRpc) {
    this.#chainId = chainId
    this.#rpc = rpc
  }

  /**
   * Tells whether the contract at the address accepts the signature. An address without code never does.
   *
   * @throws NodekeepError UPSTREAM_ERROR or UPSTREAM_TIMEOUT when the chain cannot be queried
   */
  async hasSigned(signed: ContractSignature, ethereum: Ethereum, signal: AbortSignal): Promise<boolean> {
    await this.#checkChain(signal)
    if (signed.signature.endsWith(predeploySuffix)) {
      const data = await validatorCall(signed, ethereum)
      const answer = await this.#call({ data }, signal)
      return answer !== null && /^0x0*1$/.test(answer)
    }
    const parameters = encode(ethereum, ['bytes32', 'bytes'], [signed.hash, signed.signature])
    const answer = await this.#call({ to: signed.address, data: selector + parameters }, signal)
    return answer?.slice(0, valid.length).toLowerCase() === valid
  }

  /** Returns the result of the call, or `null` when the contract reverted. */
  async #call(transaction: object, signal: AbortSignal): Promise<string | null> {
    const answer = await this.#rpc('eth_call', [transaction, 'latest'], signal)
    if ('result' in answer) return answer.result
    if (isRevert(answer.error)) return null
    throw unusable(`eth_call failed with ${answer.error.code}: ${answer.error.message}`)
  }

  /** Checks the chain of the endpoint: at the same address, another chain may have a contract of another owner. */
  async #checkChain(signal: AbortSignal): Promise<void> {
    if (this.#isRightChain) return
    const answer = await this.#rpc('eth_chainId', [], signal)
    if (!('result' in answer)) throw unusable(`eth_chainId failed with ${answer.error.code}`)
    if (Number(answer.result) !== this.#chainId) {
      throw unusable(
        `the endpoint of chain ${this.#chainId} in "rpcUrls" serves chain ${Number(answer.result)}`,
      )
    }
    this.#isRightChain = true
  }
}

/** Makes the data of a call without destination. It runs the universal validator of ERC-6492 and changes no state. */
async function validatorCall(
  { address, hash, signature }: ContractSignature,
  ethereum: Ethereum,
): Promise<string> {
  const { universalSignatureValidatorBytecode } = await import('ox/erc6492/SignatureErc6492')
  return (
    universalSignatureValidatorBytecode +
    encode(ethereum, ['address', 'bytes32', 'bytes'], [address, hash, signature])
  )
}

/** Encodes values by the ABI, without the leading `0x`. */
function encode({ ethers }: Ethereum, types: readonly string[], values: readonly string[]): string {
  return ethers.AbiCoder.defaultAbiCoder().encode(types, values).slice(2)
}

/** Tells whether the contract ended the call. Servers agree on neither the code nor the message of this error. */
function isRevert({ code, message }: { code: number; message: string }): boolean {
  return (
    code === 3 ||
    code === -32015 ||
    /revert|out of gas|invalid opcode|invalid jump|stack underflow/i.test(message)
  )
}

function unusable(why: string): NodekeepError {
  return new NodekeepError('UPSTREAM_ERROR', 'The chain cannot be queried now. Try again later.', {
    cause: new Error(why),
  })
}
