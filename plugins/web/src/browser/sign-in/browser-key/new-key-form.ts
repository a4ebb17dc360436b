import { newKey, readKey } from '@nodekeep/login-siwe/client'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { focusAtFirst } from '../../focus.ts'
import { html } from '../../html.ts'
import { NameField, typedName } from '../../name-field.ts'
import { texts } from '../../texts.ts'
import { sealKey } from './sealed-key.ts'
import { storedKey, storeKey } from './stored-key.ts'

/** A thief of the storage of the browser guesses shorter passwords too soon. */
const minPasswordLength = 10

interface NewKeyFormProps {
  /** Whether the person has a key. Otherwise the form makes one. */
  readonly imports: boolean
  /** Called with the key when it is stored, and with the user name of a new person; it is empty for an imported key. */
  onStored(key: Uint8Array, username: string): void
  onCancel(): void
}

const text = texts.account.key

/** Asks for a password, and stores a new or an imported key with it. */
export function NewKeyForm({ imports, onStored, onCancel }: NewKeyFormProps): VNode {
  const fault = useSignal('')
  const nameFault = useSignal('')
  const isWorking = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  const takeFile = async ({ target }: Event) => {
    const [file] = (target as HTMLInputElement).files ?? []
    if (file && field.current) field.current.value = (await file.slice(0, 1000).text()).trim()
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const data = new FormData(event.target as HTMLFormElement)
    const [typed = '', password = '', repeated] = ['key', 'password', 'repeat'].map((name) =>
      String(data.get(name) ?? ''),
    )
    const key = imports ? readKey(typed) : newKey()
    const named = imports ? { username: '', fault: '' } : typedName(event.target)
    nameFault.value = named.fault
    fault.value = faultOf(key, password, repeated)
    if (key === null || named.username === null || fault.value !== '') return
    isWorking.value = true
    try {
      const sealed = await sealKey(key, password)
      // Another tab may have stored one in the meantime.
      if (storedKey() !== null) fault.value = text.isThere
      else storeKey(sealed)
    } catch {
      fault.value = text.notStored
    }
    isWorking.value = false
    if (fault.value === '') onStored(key, named.username)
  }
  const password = (label: string, name: string) => html`<label>
    ${label}
    <input type="password" name=${name} autocomplete="new-password" required />
  </label>`
  return html`<form onSubmit=${submit}>
    ${
      imports &&
      html`<label>
          ${text.keyField}
          <input
            name="key"
            required
            autocomplete="off"
            spellcheck=${false}
            ref=${(element: HTMLInputElement | null) => {
              if (field.current === null) focusAtFirst(element)
              field.current = element
            }}
          />
        </label>
        <label>${text.keyFile}<input type="file" onChange=${takeFile} /></label>`
    }
    ${!imports && html`<${NameField} fault=${nameFault.value} hint=${text.nameUse} focused />`}
    ${password(text.newPassword, 'password')}
    <p class="hint">${text.passwordHint(minPasswordLength)}</p>
    ${password(text.repeat, 'repeat')}
    <p class="fault" role="alert">${fault}</p>
    <p class="hint" role="status">${isWorking.value && text.encrypting}</p>
    <p class="buttons">
      <button type="button" onClick=${onCancel}>${texts.cancel}</button>
      <button type="submit" class="main" disabled=${isWorking}>${imports ? text.importAndSignIn : text.create}</button>
    </p>
  </form>`
}

/** Returns what is wrong with what was typed; an empty text if nothing is. */
function faultOf(key: Uint8Array | null, password: string, repeated: string | undefined): string {
  if (key === null) return text.noKey
  if (password.length < minPasswordLength) return text.passwordHint(minPasswordLength)
  return password === repeated ? '' : text.differ
}
