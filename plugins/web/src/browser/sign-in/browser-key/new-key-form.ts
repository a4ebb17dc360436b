import { newKey, readKey } from '@nodekeep/login-siwe/client'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { Field } from '../../field.ts'
import { html } from '../../html.ts'
import { NameField, typedName } from '../../name-field.ts'
import * as texts from '../../texts.ts'
import { NewPasswordFields, noNewPasswordFaults, typedNewPassword } from './new-password.ts'
import { sealKey } from './sealed-key.ts'
import { storedKey, storeKey } from './stored-key.ts'

interface NewKeyFormProps {
  /** Whether the person has a key. Otherwise the form makes one, and asks for a name. */
  readonly imports?: boolean
  /** The text of the button. */
  readonly agree: string
  /** Called with the key when it is stored, and with the user name of a new person; it is empty for an imported key. */
  onStored(key: Uint8Array, username: string): void
}

const text = texts.account.key

/** Asks for a password, and stores a new or an imported key with it. */
export function NewKeyForm({ imports = false, agree, onStored }: NewKeyFormProps): VNode {
  const faults = useSignal({ ...noNewPasswordFaults, key: '', name: '', storage: '' })
  const isWorking = useSignal(false)
  const form = useRef<HTMLFormElement>(null)
  const takeFile = async ({ target }: Event) => {
    const [file] = (target as HTMLInputElement).files ?? []
    const field = form.current?.elements.namedItem('key')
    if (file && field instanceof HTMLInputElement) field.value = (await file.slice(0, 1000).text()).trim()
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isWorking.value || form.current === null) return
    const key = imports ? readKey(String(new FormData(form.current).get('key') ?? '')) : newKey()
    const named = imports ? { username: '', fault: '' } : typedName(form.current)
    const typed = typedNewPassword(form.current)
    faults.value = { ...typed.faults, key: key === null ? text.noKey : '', name: named.fault, storage: '' }
    if (key === null || named.username === null || typed.password === null) return
    isWorking.value = true
    let storage = ''
    try {
      const sealed = await sealKey(key, typed.password)
      // Another tab may have stored one in the meantime.
      if (storedKey() !== null) storage = text.isThere
      else storeKey(sealed)
    } catch {
      storage = text.notStored
    }
    isWorking.value = false
    faults.value = { ...faults.value, storage }
    if (storage === '') onStored(key, named.username)
  }
  return html`<form ref=${form} onSubmit=${submit}>
    ${
      imports &&
      html`<${Field} name="key" label=${text.keyField} fault=${faults.value.key} required autocomplete="off" spellcheck=${false} />
        <label>${text.keyFile}<input type="file" onChange=${takeFile} /></label>`
    }
    ${!imports && html`<${NameField} fault=${faults.value.name} hint=${text.nameUse} />`}
    <${NewPasswordFields} faults=${faults.value} />
    <p class="fault" role="alert">${faults.value.storage}</p>
    <p class="hint" role="status">${isWorking.value && text.encrypting}</p>
    <p class="choices"><button type="submit" class="main" aria-disabled=${isWorking.value}>${agree}</button></p>
  </form>`
}
