import { parseWallet } from '@nodekeep/plugin-sdk'

/**
 * A wallet of the configuration in the mixed case of EIP-55.
 *
 * @throws Error for text that is no address; the configuration's validation refuses such text before
 */
export function configuredWallet(text: string): string {
  const wallet = parseWallet(text)
  if (wallet === null) throw new Error(`The configuration has ${text}, which is no wallet address (EIP-55).`)
  return wallet
}
