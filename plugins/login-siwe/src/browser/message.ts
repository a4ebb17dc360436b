import { parseWallet } from '@nodekeep/plugin-sdk/wallet'

/** The fields of a sign-in message that are not fixed. */
interface MessageFields {
  readonly domain: string
  readonly uri: string
  readonly statement: string
  readonly nonce: string
  readonly chainId: number
  /** `0x` and 40 hexadecimal digits in any case. */
  readonly address: string
  readonly issuedAt: Date
}

/** Makes the text of EIP-4361 that the wallet signs (`personal_sign`). */
export function siweMessage(fields: MessageFields): string {
  return [
    `${fields.domain} wants you to sign in with your Ethereum account:`,
    checksumAddress(fields.address),
    '',
    fields.statement,
    '',
    `URI: ${fields.uri}`,
    'Version: 1',
    `Chain ID: ${fields.chainId}`,
    `Nonce: ${fields.nonce}`,
    `Issued At: ${fields.issuedAt.toISOString()}`,
  ].join('\n')
}

/**
 * Returns the mixed-case form of an address (EIP-55). EIP-4361 requires it, and not every wallet returns it.
 *
 * @param address `0x` and 40 hexadecimal digits in any case
 * @throws TypeError when the text is not an address
 */
export function checksumAddress(address: string): string {
  const wallet = parseWallet(address.toLowerCase())
  if (wallet === null) throw new TypeError('A wallet address is 0x and 40 hexadecimal digits.')
  return wallet
}
