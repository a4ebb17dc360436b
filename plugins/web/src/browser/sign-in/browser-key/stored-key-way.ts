import { signal } from '@preact/signals'
import { html } from '../../html.ts'
import * as texts from '../../texts.ts'
import type { SignInMethod } from '../sign-in-method.ts'
import { KeyCare } from './key-care.ts'
import { PasswordForm } from './password-form.ts'
import { storedKey } from './stored-key.ts'

const text = texts.account.key

/** The key that this browser keeps for this address of the node. */
export const keptKey = signal(storedKey())

/** Looks again: another tab may have stored or forgotten a key. */
export function readKeptKey(): void {
  keptKey.value = storedKey()
}

/** Signs in with the key that this browser keeps. */
export const StoredKeyWay: SignInMethod = ({ working, fault, enterWith }) => {
  const sealed = keptKey.value
  if (sealed === null) return null
  const changed = () => {
    readKeptKey()
    // The button that had the focus is gone.
    if (keptKey.value === null) document.getElementById('content')?.focus()
  }
  return html`<p class="note">${text.of(sealed.address)}</p>
    <${PasswordForm}
      sealed=${sealed}
      agree=${text.signIn}
      fault=${fault}
      disabled=${working}
      onKey=${enterWith}
    />
    <details>
      <summary>${text.careTitle}</summary>
      <${KeyCare} sealed=${sealed} onChanged=${changed} />
    </details>`
}
