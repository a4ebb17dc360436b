import type { VNode } from 'preact'
import { Field } from '../../field.ts'
import { html } from '../../html.ts'
import * as texts from '../../texts.ts'

/** A thief of the storage of the browser guesses shorter passwords too soon. */
const minPasswordLength = 10

/** The faults of a new password, and of its repetition; empty if there are none. */
interface NewPasswordFaults {
  readonly password: string
  readonly repeat: string
}

export const noNewPasswordFaults: NewPasswordFaults = { password: '', repeat: '' }

const text = texts.account.key

/** The fields of a form for a new password, typed twice. {@link typedNewPassword} reads them. */
export function NewPasswordFields({ faults }: { faults: NewPasswordFaults }): VNode {
  const attributes = { type: 'password', autocomplete: 'new-password', required: true }
  return html`<${Field}
      ...${attributes}
      name="new-password"
      label=${text.newPassword}
      hint=${faults.password === '' ? text.passwordHint(minPasswordLength) : ''}
      fault=${faults.password}
    />
    <${Field} ...${attributes} name="repeat" label=${text.repeat} fault=${faults.repeat} />`
}

/** Returns the new password that somebody has typed into a form; `null` with its faults. */
export function typedNewPassword(form: HTMLFormElement): {
  readonly password: string | null
  readonly faults: NewPasswordFaults
} {
  const data = new FormData(form)
  const [password, repeated] = ['new-password', 'repeat'].map((name) => String(data.get(name) ?? ''))
  if (password === undefined || password.length < minPasswordLength) {
    return { password: null, faults: { password: text.passwordHint(minPasswordLength), repeat: '' } }
  }
  if (password !== repeated) return { password: null, faults: { password: '', repeat: text.differ } }
  return { password, faults: noNewPasswordFaults }
}
