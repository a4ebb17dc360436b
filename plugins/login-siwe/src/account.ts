import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Ethereum } from './ethereum.ts'

/** An account on a chain. */
export interface Account {
  readonly chainId: number
  /** In EIP-55 form. */
  readonly address: string
}

/**
 * Reads a CAIP-10 account of an EIP-155 chain, such as `eip155:1:0x5290…9EE7`.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function readAccount(uuid: string, ethereum: Ethereum): Account {
  const [, chainId, address] = /^eip155:([1-9][0-9]{0,14}):(0x[0-9a-fA-F]{40})$/.exec(uuid) ?? []
  if (chainId === undefined || address === undefined) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'The uuid must be the account in the form of CAIP-10, such as "eip155:1:0x…".',
    )
  }
  return { chainId: Number(chainId), address: readAddress(address, 'uuid', ethereum) }
}

/**
 * Reads a wallet address into its EIP-55 form. Digits in mixed case are taken for a checksum, which must be right.
 *
 * @param field what to call it in the message of an error
 * @throws NodekeepError VALIDATION_ERROR
 */
export function readAddress(text: string, field: string, { ethers }: Ethereum): string {
  const digits = /^0x([0-9a-fA-F]{40})$/.exec(text)?.[1]
  if (digits === undefined) throw invalid(`The ${field} has no wallet address: 0x and 40 hexadecimal digits.`)
  const address = ethers.getAddress(`0x${digits.toLowerCase()}`)
  const isPlain = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  if (!isPlain && text !== address) {
    throw invalid(
      `The checksum (EIP-55) of the address in the ${field} is wrong: a character may be mistyped.`,
    )
  }
  return address
}

/** CAIP-10 of an account. */
export function accountId({ chainId, address }: Account): string {
  return `eip155:${chainId}:${address}`
}

function invalid(why: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', why)
}
