import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { Field } from '../../field.ts'
import { html } from '../../html.ts'
import * as texts from '../../texts.ts'
import { openKey, type SealedKey } from './sealed-key.ts'

interface PasswordFormProps {
  readonly sealed: SealedKey
  /** The text of the button. */
  readonly agree: string
  readonly disabled?: boolean
  /** The reason why what followed failed; empty if it did not. */
  readonly fault?: string
  onKey(key: Uint8Array): void
}

const text = texts.account.key

/** Asks for the password of a stored key. */
export function PasswordForm({
  sealed,
  agree,
  disabled = false,
  fault = '',
  onKey,
}: PasswordFormProps): VNode {
  const wrong = useSignal('')
  const isWorking = useSignal(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isWorking.value || disabled) return
    const { elements } = event.target as HTMLFormElement
    const field = elements.namedItem('password') as HTMLInputElement
    wrong.value = ''
    isWorking.value = true
    const key = await openKey(sealed, field.value)
    isWorking.value = false
    if (key !== null) return onKey(key)
    wrong.value = text.wrongPassword
    field.select()
  }
  return html`<form onSubmit=${submit}>
    <input name="username" autocomplete="username" value=${sealed.address} readonly hidden />
    <${Field}
      type="password"
      name="password"
      label=${text.password}
      fault=${wrong.value}
      autocomplete="current-password"
      required
    />
    <p class="fault" role="alert">${fault}</p>
    <p class="hint" role="status">${isWorking.value && text.decrypting}</p>
    <p class="choices">
      <button type="submit" class="main" aria-disabled=${disabled || isWorking.value}>${agree}</button>
    </p>
  </form>`
}
