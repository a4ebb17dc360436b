import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../html.ts'
import { NameField, typedName } from '../name-field.ts'
import { reasonOf } from '../request.ts'
import * as texts from '../texts.ts'
import { Mark } from './mark.ts'

interface NameStepProps {
  /** A name that was typed before. */
  readonly name: string
  /** The fault of the name; empty if there is none. */
  readonly fault: string
  /** Stores the name, and goes on. */
  onName(name: string): Promise<void>
  onSkip(): void
}

const text = texts.signIn.name

/** Asks a person for their name after the first sign-in, before anybody sees their address instead. */
export function NameStep({ name, fault: before, onName, onSkip }: NameStepProps): VNode {
  const fault = useSignal(before)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const typed = typedName(event.target)
    fault.value = typed.fault
    if (typed.username === null) return
    await onName(typed.username).catch((error: unknown) => {
      fault.value = reasonOf(error)
    })
  }
  return html`<form class="step" onSubmit=${submit}>
    <${Mark} />
    <h1>${text.title}</h1>
    <p>${text.explanation}</p>
    <${NameField} value=${name} fault=${fault.value} focused />
    <p class="choices">
      <button type="submit" class="main">${text.agree}</button>
      <button type="button" onClick=${onSkip}>${text.skip}</button>
    </p>
  </form>`
}
