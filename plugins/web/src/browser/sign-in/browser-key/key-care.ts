import { textOfKey } from '@nodekeep/login-siwe/client'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { focusAtFirst } from '../../focus.ts'
import { html } from '../../html.ts'
import { SecretText } from '../../secret-text.ts'
import { texts } from '../../texts.ts'
import { PasswordForm } from './password-form.ts'
import type { SealedKey } from './sealed-key.ts'
import { forgetStoredKey } from './stored-key.ts'

const text = texts.account.key

/** Shows a stored key to a person who knows its password, and forgets it. */
export function KeyCare({ sealed, onForgotten }: { sealed: SealedKey; onForgotten(): void }): VNode {
  const shown = useSignal<string | null>(null)
  const asksToForget = useSignal(false)
  const forget = () => {
    forgetStoredKey()
    onForgotten()
  }
  const show = (key: Uint8Array) => {
    shown.value = textOfKey(key)
  }
  const ask = (asks: boolean) => () => {
    asksToForget.value = asks
  }
  return html`<details>
    <summary>${text.careTitle}</summary>
    <h3>${text.show}</h3>
    ${
      shown.value === null
        ? html`<${PasswordForm} sealed=${sealed} agree=${text.show} onKey=${show} />`
        : html`<p>${text.copyText}</p><${KeyText} value=${shown.value} />`
    }
    <h3>${text.forget}</h3>
    <p>${text.forgetText}</p>
    <p class="choices">
      ${
        asksToForget.value
          ? html`<button type="button" ref=${focusAtFirst} onClick=${ask(false)}>${texts.cancel}</button>
              <button type="button" onClick=${forget}>${text.forgetAgree}</button>`
          : html`<button type="button" onClick=${ask(true)}>${text.forget}</button>`
      }
    </p>
  </details>`
}

/** A key as text and as a file, in the form that wallets and `nodekeep-sync login --key` take. */
export function KeyText({ value, hides }: { value: string; hides?: boolean }): VNode {
  return html`<${SecretText} label=${text.yourKey} value=${value} fileName="nodekeep-wallet.key" hides=${hides} />`
}
