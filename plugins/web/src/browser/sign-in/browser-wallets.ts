import { checksumAddress } from '@nodekeep/login-siwe/client'
import { signal } from '@preact/signals'
import { html } from '../html.ts'
import * as texts from '../texts.ts'
import type { SignInMethod } from './sign-in-method.ts'

/** A provider of EIP-1193. */
interface Provider {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>
}

interface Wallet {
  readonly id: string
  readonly name: string
  /** A picture as a `data:` URL; `null` without one. */
  readonly icon: string | null
  readonly provider: Provider
}

const announced = signal<readonly Wallet[]>([])

// EIP-6963: each wallet announces itself, at its start and when a page asks.
addEventListener('eip6963:announceProvider', (event) => {
  const { info, provider } = (event as CustomEvent).detail ?? {}
  if (typeof info?.uuid !== 'string' || typeof info.name !== 'string' || !provider) return
  const icon = String(info.icon).startsWith('data:image/') ? String(info.icon) : null
  const others = announced.value.filter(({ id }) => id !== info.uuid)
  announced.value = [...others, { id: info.uuid, name: info.name.slice(0, 60), icon, provider }]
})
dispatchEvent(new Event('eip6963:requestProvider'))

/** The wallets of this browser. Older ones are only in `window.ethereum`. */
export function wallets(): readonly Wallet[] {
  const { ethereum } = window as { ethereum?: Provider }
  if (announced.value.length > 0 || ethereum === undefined) return announced.value
  return [{ id: 'ethereum', name: texts.signIn.anyWallet, icon: null, provider: ethereum }]
}

/** Signs in with an extension of the browser, or the browser of a wallet. */
export const BrowserWallets: SignInMethod = ({ working, fault, run, signIn }) => {
  const start = ({ provider }: Wallet) =>
    run(async () => {
      const [address] = (await provider.request({ method: 'eth_requestAccounts' })) as string[]
      if (address === undefined) throw new Error(texts.signIn.failed)
      const sign = (message: string) =>
        provider.request({ method: 'personal_sign', params: [hex(message), address] }) as Promise<string>
      // Many wallets tell their address in small letters.
      await signIn(checksumAddress(address), sign)
    })
  return html`${wallets().map(
    (wallet, index) => html`<p key=${wallet.id} class="choices">
      <button type="button" class=${index === 0 ? 'main' : ''} disabled=${working} onClick=${() => start(wallet)}>
        ${wallet.icon && html`<img src=${wallet.icon} alt="" width="20" height="20" />`}
        ${texts.signIn.with(wallet.name)}
      </button>
    </p>`,
  )}
    <p class="hint" role="status">${working && texts.signIn.inWallet}</p>
    <p class="fault" role="alert">${fault}</p>`
}

function hex(text: string): string {
  const digits = Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0'))
  return `0x${digits.join('')}`
}
