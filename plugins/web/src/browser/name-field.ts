import type { VNode } from 'preact'
import { Field } from './field.ts'
import { html } from './html.ts'
import { texts } from './texts.ts'

interface NameFieldProps {
  readonly label?: string
  /** The first value. */
  readonly value?: string
  readonly fault: string
  readonly hint?: string
  readonly required?: boolean
  readonly [attribute: string]: unknown
}

/** The field `username` of a form, for the name of a person. `userNameOf` makes a user name of what they type. */
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
