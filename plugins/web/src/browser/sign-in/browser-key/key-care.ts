import { textOfKey } from '@nodekeep/login-siwe/client'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { SecretText } from '../../secret-text.ts'
import * as texts from '../../texts.ts'
import { PasswordChange } from './password-change.ts'
import { PasswordForm } from './password-form.ts'
import type { SealedKey } from './sealed-key.ts'
import { forgetStoredKey } from './stored-key.ts'

interface KeyCareProps {
  readonly sealed: SealedKey
  /** Called when the browser has forgotten the key, or has it with another password. */
  onChanged(): void
}

const text = texts.account.key

/** Shows a stored key to a person who knows its password, changes the password, and forgets the key. */
export function KeyCare({ sealed, onChanged }: KeyCareProps): VNode {
  const shown = useSignal<string | null>(null)
  const forget = () => {
    forgetStoredKey()
    onChanged()
  }
  const show = (key: Uint8Array) => {
    shown.value = textOfKey(key)
  }
  return html`<div class="key-care">
    <details>
      <summary>${text.showTitle}</summary>
      ${
        shown.value === null
          ? html`<${PasswordForm} sealed=${sealed} agree=${text.show} onKey=${show} />`
          : html`<p>${text.copyText}</p><${KeyText} value=${shown.value} />`
      }
    </details>
    <details>
      <summary>${text.passwordTitle}</summary>
      <${PasswordChange} sealed=${sealed} onChanged=${onChanged} />
    </details>
    <details>
      <summary>${text.forget}</summary>
      <p>${text.forgetText}</p>
      <p class="choices"><button type="button" class="danger" onClick=${forget}>${text.forgetAgree}</button></p>
    </details>
  </div>`
}

/** A key as text and as a file, in the form that wallets and `nodekeep-sync login --key` take. */
export function KeyText({ value, hides }: { value: string; hides?: boolean }): VNode {
  return html`<${SecretText} label=${text.yourKey} value=${value} fileName="nodekeep-wallet.key" hides=${hides} />`
}
