import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { Field } from './field.ts'
import { html } from './html.ts'
import * as texts from './texts.ts'
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

/** The field `username` of a form, for the name of a person. It tells the name that comes of what is typed. {@link typedName} reads it. */
export function NameField({
  label = texts.account.newName,
  value = '',
  hint = '',
  required = true,
  ...further
}: NameFieldProps): VNode {
  const typed = useSignal(value)
  const type = ({ target }: InputEvent) => {
    typed.value = (target as HTMLInputElement).value
  }
  return html`<${Field}
    name="username"
    label=${label}
    defaultValue=${value}
    hint=${[nameHere(typed.value), hint].filter(Boolean).join(' ')}
    required=${required}
    autocomplete="off"
    spellcheck=${false}
    maxlength="100"
    onInput=${type}
    ...${further}
  />`
}

/** Tells the user name for a name as somebody types it, where it is another one; empty otherwise. */
export function nameHere(typed: string): string {
  const username = userNameOf(typed)
  return username === null || username === typed.trim() ? '' : texts.account.nameHere(username)
}

/** Returns the user name that somebody has typed into the field of a form, or the fault of what they typed. */
export function typedName(form: EventTarget | null): {
  readonly username: string | null
  readonly fault: string
} {
  const username = userNameOf(String(new FormData(form as HTMLFormElement).get('username')))
  return { username, fault: username === null ? texts.account.nameHint : '' }
}
