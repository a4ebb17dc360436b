import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../html.ts'
import { texts } from '../texts.ts'

interface Notice {
  readonly id: number
  readonly text: string
  readonly kind: 'done' | 'error'
}

const shown = signal<readonly Notice[]>([])
let count = 0

/** Shows a text. Errors stay until the person closes them. */
export function notice(text: string, kind: 'done' | 'error' = 'done'): void {
  count += 1
  const id = count
  const others = shown.value.filter((other) => other.text !== text)
  shown.value = [...others.slice(-3), { id, text, kind }]
  if (kind === 'done') setTimeout(() => remove(id), 6000)
}

/** Shows the reason of a failure: the message of the node, or `otherwise`. An aborted request is no failure. */
export function noticeFailure(error: unknown, otherwise: string): void {
  if (error instanceof DOMException && error.name === 'AbortError') return
  notice(error instanceof TypeError || !(error instanceof Error) ? otherwise : error.message, 'error')
}

function remove(id: number): void {
  shown.value = shown.value.filter((other) => other.id !== id)
}

/** Removes all texts. */
export function clearNotices(): void {
  shown.value = []
}

/** The texts that are shown now. Programs that read the screen aloud read each new one. */
export function Notices(): VNode {
  return html`<div class="notices" role="status">
    ${shown.value.map(
      ({ id, text, kind }) => html`<p key=${id} class=${kind}>
        ${text}
        <button type="button" onClick=${() => remove(id)}>${texts.close}</button>
      </p>`,
    )}
  </div>`
}
