import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { Field } from '../../field.ts'
import { html } from '../../html.ts'
import * as texts from '../../texts.ts'
import { NewPasswordFields, noNewPasswordFaults, typedNewPassword } from './new-password.ts'
import { openKey, type SealedKey, sealKey } from './sealed-key.ts'
import { storedKey, storeKey } from './stored-key.ts'

interface PasswordChangeProps {
  readonly sealed: SealedKey
  onChanged(): void
}

const text = texts.account.key

/** Encrypts the stored key with another password. The key itself stays, and so do its copies. */
export function PasswordChange({ sealed, onChanged }: PasswordChangeProps): VNode {
  const faults = useSignal({ ...noNewPasswordFaults, present: '', storage: '' })
  const isWorking = useSignal(false)
  const told = useSignal('')
  const change = async (present: string, password: string) => {
    const key = await openKey(sealed, present)
    if (key === null) return { present: text.wrongPassword }
    const again = await sealKey(key, password)
    // Another tab may have changed or forgotten it meanwhile.
    if (storedKey()?.sealed !== sealed.sealed) return { storage: text.changedElsewhere }
    try {
      storeKey(again)
    } catch {
      return { storage: text.notStored }
    }
    return null
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isWorking.value) return
    const form = event.target as HTMLFormElement
    const { password, faults: typed } = typedNewPassword(form)
    faults.value = { ...typed, present: '', storage: '' }
    told.value = ''
    if (password === null) return
    isWorking.value = true
    const fault = await change(String(new FormData(form).get('password')), password)
    isWorking.value = false
    if (fault !== null) {
      faults.value = { ...faults.value, ...fault }
      return
    }
    form.reset()
    told.value = text.passwordChanged
    onChanged()
  }
  const { present, storage } = faults.value
  return html`<form onSubmit=${submit}>
    <input name="username" autocomplete="username" value=${sealed.address} readonly hidden />
    <${Field}
      type="password"
      name="password"
      label=${text.presentPassword}
      fault=${present}
      autocomplete="current-password"
      required
    />
    <${NewPasswordFields} faults=${faults.value} />
    <p class="fault" role="alert">${storage}</p>
    <p class="hint" role="status">${isWorking.value ? text.encrypting : told.value}</p>
    <p class="choices">
      <button type="submit" class="main" aria-disabled=${isWorking.value}>${text.changePassword}</button>
    </p>
  </form>`
}
