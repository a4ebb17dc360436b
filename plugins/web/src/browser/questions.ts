import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from './html.ts'
import * as texts from './texts.ts'

interface Question {
  readonly title: string
  readonly text?: string
  /** A field. Without it, the question is a yes or no. */
  readonly field?: {
    readonly label: string
    /** The first value. */
    readonly value: string
    /** The number of its first characters that are selected. Default: all. */
    readonly selected?: number
  }
  /** The text of the button that agrees. */
  readonly agree: string
  /** Agreeing deletes for good. */
  readonly danger?: boolean
  /** Returns what is wrong with a value of the field, or `null`. Until then, the question stays, with what the person typed. */
  readonly check?: (value: string) => string | null | Promise<string | null>
}

const asked = signal<(Question & { answer(value: string | null): void }) | null>(null)
const fault = signal('')
const isChecking = signal(false)

/** Asks the person, and resolves to the value of the field or `''`; to `null` if the person cancels. */
export function ask(question: Question): Promise<string | null> {
  asked.value?.answer(null)
  return new Promise((resolve) => {
    fault.value = ''
    isChecking.value = false
    asked.value = {
      ...question,
      answer(value) {
        asked.value = null
        resolve(value)
      },
    }
  })
}

/** Shows the question that is asked. */
export function Questions(): VNode | null {
  const question = asked.value
  // A page that ends takes its question along.
  useLayoutEffect(() => () => asked.value?.answer(null), [])
  if (question === null) return null
  const { title, text, field, agree, danger, check, answer } = question
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isChecking.value) return
    const data = new FormData(event.target as HTMLFormElement)
    const value = String(data.get('value') ?? '').trim()
    isChecking.value = true
    const wrong = (await check?.(value)) ?? null
    // The person may have cancelled meanwhile.
    if (asked.value !== question) return
    isChecking.value = false
    if (wrong === null) answer(value)
    else fault.value = wrong
  }
  return html`<${Dialog} title=${title} selected=${field?.selected} onClose=${() => answer(null)}>
    <form onSubmit=${submit}>
      ${text && html`<p>${text}</p>`}
      ${field && html`<label>${field.label}<input name="value" defaultValue=${field.value} autocomplete="off" autofocus /></label>`}
      <p class="fault" role="alert">${fault}</p>
      <p class="buttons">
        <button type="button" onClick=${() => answer(null)}>${texts.cancel}</button>
        <button type="submit" class=${danger ? 'danger main' : 'main'} aria-disabled=${isChecking.value}>${agree}</button>
      </p>
    </form>
  <//>`
}

/**
 * A dialog over the page. The browser keeps the focus in it, and gives it back afterwards.
 *
 * @param props.selected the number of characters that are selected in a field with `autofocus`; default: all
 */
export function Dialog(props: {
  title: string
  selected?: number
  onClose: () => void
  children?: unknown
}): VNode {
  const element = useRef<HTMLDialogElement>(null)
  // A dialog that is closed before its element is removed gives the focus back.
  useLayoutEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    const field = dialog?.querySelector<HTMLInputElement>('input[autofocus]')
    field?.setSelectionRange(0, props.selected ?? field.value.length)
    return () => dialog?.close()
  }, [])
  const cancel = (event: Event) => {
    event.preventDefault()
    props.onClose()
  }
  return html`<dialog ref=${element} onCancel=${cancel} aria-label=${props.title}>
    <h2>${props.title}</h2>
    ${props.children}
  </dialog>`
}
