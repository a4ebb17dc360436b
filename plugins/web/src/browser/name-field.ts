import type { VNode } from 'preact'
import { Field } from './field.ts'
import { html } from './html.ts'
import { texts } from './texts.ts'
import { userNameOf } from './user-name.ts'

interface NameFieldProps {
  readonly label?: string
  /** The first value. */
  readonly value?: string
  readonly fault: string
  readonly hint?: string
  readonly required?: boolean
  readonly [attribute: string]: unknown
}

/** The field `username` of a form, for the name of a person. {@link typedName} reads it. */
export function NameField({
  label = texts.account.newName,
  value = '',
  required = true,
  ...further
}: NameFieldProps): VNode {
  return html`<${Field}
    name="username"
    label=${label}
    defaultValue=${value}
    required=${required}
    autocomplete="off"
    spellcheck=${false}
    maxlength="100"
    ...${further}
  />`
}

/** Returns the user name that somebody has typed into the field of a form, or the fault of what they typed. */
export function typedName(form: EventTarget | null): {
  readonly username: string | null
  readonly fault: string
} {
  const username = userNameOf(String(new FormData(form as HTMLFormElement).get('username')))
  return { username, fault: username === null ? texts.account.nameHint : '' }
}
