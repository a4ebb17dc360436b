import { Wallet } from 'ethers'
import type { BrowserContext } from 'playwright-core'

/** Gives each page of a browser a wallet that really signs, announced as EIP-6963 says. Nobody is asked. */
export async function addWallet(context: BrowserContext): Promise<Wallet> {
  const wallet = new Wallet(Wallet.createRandom().privateKey)
  await context.exposeFunction('callTestWallet', async (method: string, params: readonly string[]) => {
    if (method === 'eth_requestAccounts') return [wallet.address.toLowerCase()]
    if (method === 'personal_sign') return wallet.signMessage(Buffer.from(params[0]?.slice(2) ?? '', 'hex'))
    throw new Error(`The test wallet does not know ${method}.`)
  })
  await context.addInitScript(`
    const provider = { request: ({ method, params = [] }) => window.callTestWallet(method, params) }
    const info = { uuid: '350670db-19fa-4704-a166-e52e178b59d2', name: 'Test Wallet', icon: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4.5" cy="4.5" r="4" fill="orange"/></svg>', rdns: 'test.wallet' }
    const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
    addEventListener('eip6963:requestProvider', announce)
    announce()
  `)
  return wallet
}
