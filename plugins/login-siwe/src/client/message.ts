import { checksumAddress } from './checksum-address.ts'

/** The fields of a sign-in message that are not fixed. */
export interface MessageFields {
  readonly domain: string
  readonly uri: string
  readonly statement: string
  readonly nonce: string
  readonly chainId: number
  /** `0x` and 40 hexadecimal digits in any case. */
  readonly address: string
  readonly issuedAt: Date
}

/** The text of EIP-4361 that the wallet signs (`personal_sign`). */
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
