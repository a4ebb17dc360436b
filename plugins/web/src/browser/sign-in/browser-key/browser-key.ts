import { addressOf, signText, textOfKey } from '@nodekeep/login-siwe/client'
import { useSignal } from '@preact/signals'
import { AddressText } from '../../address-text.ts'
import { focusAtFirst } from '../../focus.ts'
import { html } from '../../html.ts'
import { texts } from '../../texts.ts'
import { wallets } from '../browser-wallets.ts'
import type { SignInMethod } from '../sign-in-method.ts'
import { KeyCare, KeyText } from './key-care.ts'
import { NewKeyForm } from './new-key-form.ts'
import { PasswordForm } from './password-form.ts'
import { storedKey } from './stored-key.ts'

const text = texts.account.key

/** Signs in with a key that this browser keeps, encrypted with a password. */
export const BrowserKey: SignInMethod = ({ isNew, working, run, signIn }) => {
  const stored = useSignal(storedKey())
  const form = useSignal<'create' | 'import' | null>(null)
  /** A key that was made just now, and of which the person has no copy yet. */
  const made = useSignal<Uint8Array | null>(null)
  const cancelled = useSignal(false)
  /** The user name that a new person has chosen. */
  const name = useSignal('')
  const signInWith = (key: Uint8Array) =>
    run(() => signIn(addressOf(key), async (message) => signText(key, message), name.value))
  const close = () => {
    stored.value = storedKey()
    form.value = null
    cancelled.value = true
  }
  const takeNew = (key: Uint8Array, username: string) => {
    const isCopied = form.value === 'import'
    name.value = username
    close()
    if (isCopied) void signInWith(key)
    else made.value = key
  }
  const open = (kind: 'create' | 'import') => () => {
    form.value = kind
  }
  if (made.value !== null) {
    const key = made.value
    return html`<section>
      <h2 tabindex="-1" ref=${focusAtFirst}>${text.copyTitle}</h2>
      <p>${text.copyText}</p>
      <${KeyText} value=${textOfKey(key)} hides />
      <p class="hint">${text.lossText}</p>
      <p class="choices">
        <button type="button" class="main" disabled=${working} onClick=${() => signInWith(key)}>${text.copied}</button>
      </p>
    </section>`
  }
  if (form.value !== null) {
    const imports = form.value === 'import'
    return html`<section>
      <h2>${imports ? text.import : text.create}</h2>
      <p>${text.storageText}</p>
      <${NewKeyForm} imports=${imports} onStored=${takeNew} onCancel=${close} />
    </section>`
  }
  if (stored.value !== null) {
    return html`<section>
      <h2>${text.storedTitle}</h2>
      <${AddressText} value=${stored.value.address} />
      <${PasswordForm} sealed=${stored.value} agree=${text.signIn} disabled=${working} onKey=${signInWith} />
      <${KeyCare} sealed=${stored.value} onForgotten=${close} />
    </section>`
  }
  const isMain = isNew || wallets().length === 0
  return html`<section>
    ${!isNew && html`<h2>${text.title}</h2>`}
    <p class="choices">
      <button type="button" class=${isMain ? 'main' : ''} onClick=${open('create')} ref=${cancelled.value ? focusAtFirst : undefined}>${text.create}</button>
    </p>
    <p class="hint">${text.intro}</p>
    <p class="choices"><button type="button" onClick=${open('import')}>${text.import}</button></p>
  </section>`
}
