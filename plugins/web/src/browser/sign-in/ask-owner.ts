import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { AddressText } from '../address-text.ts'
import { focusAtFirst } from '../focus.ts'
import { html } from '../html.ts'
import { NameField, typedName } from '../name-field.ts'
import * as texts from '../texts.ts'
import { faultOf } from './fault-of.ts'
import { Mark } from './mark.ts'

interface AskOwnerProps {
  readonly address: string
  /** A name that was typed before. */
  readonly name: string
  /** Sends a request to the owner; `null` if the node takes none, so that the person has to send the address. */
  readonly send: ((name: string) => Promise<void>) | null
  /** Signs in again. Resolves to whether the person was admitted. */
  signIn(): Promise<boolean>
  onBack(): void
}

const text = texts.signIn.ask

/** Tells a person that the owner has not let them in, and asks the owner for them. */
export function AskOwner({ address, name, send, signIn, onBack }: AskOwnerProps): VNode {
  const isSent = useSignal(false)
  const isWorking = useSignal(false)
  const nameFault = useSignal('')
  const fault = useSignal('')
  const run = async (work: () => Promise<void>) => {
    if (isWorking.value) return
    isWorking.value = true
    fault.value = ''
    await work().catch((error: unknown) => {
      fault.value = faultOf(error)
    })
    isWorking.value = false
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const { username, fault } = typedName(event.target)
    nameFault.value = fault
    if (username === null || send === null) return
    await run(async () => {
      await send(username)
      isSent.value = true
    })
  }
  const tryAgain = () =>
    run(async () => {
      if (!(await signIn())) fault.value = text.notYet
    })
  const heading = (title: string) =>
    html`<${Mark} /><h1 key=${title} tabindex="-1" ref=${focusAtFirst}>${title}</h1>`
  const problem = html`<p class="fault" role="alert">${fault.value}</p>`
  const back = html`<button type="button" onClick=${onBack}>${text.back}</button>`
  if (send !== null && !isSent.value) {
    return html`<form class="step" onSubmit=${submit}>
      ${heading(text.title)}
      <p>${text.explanation}</p>
      <${NameField} value=${name} fault=${nameFault.value} />
      ${problem}
      <p class="choices">
        <button type="submit" class="main" aria-disabled=${isWorking.value}>${text.agree}</button>
        ${back}
      </p>
    </form>`
  }
  return html`<div class="step">
    ${heading(isSent.value ? text.sentTitle : text.title)}
    <p>${isSent.value ? text.sent : text.byHand}</p>
    ${isSent.value && html`<p>${text.sentAddress}</p>`}
    <${AddressText} value=${address} main=${!isSent.value} />
    ${problem}
    <p class="choices">
      <button type="button" class=${isSent.value ? 'main' : ''} aria-disabled=${isWorking.value} onClick=${tryAgain}>${text.signIn}</button>
      ${back}
    </p>
  </div>`
}
