import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from './html.ts'
import { texts } from './texts.ts'

interface SecretTextProps {
  readonly label: string
  readonly value: string
  /** The name of the file in which it can be saved. Without it, there is no such button. */
  readonly fileName?: string
}

/** Shows a secret that the person has to copy. The clipboard is missing on plain-HTTP names of a network. */
export function SecretText({ label, value, fileName }: SecretTextProps): VNode {
  const told = useSignal('')
  const { clipboard } = navigator as { clipboard?: Clipboard }
  const field = useRef<HTMLTextAreaElement>(null)
  const select = () => field.current?.select()
  useLayoutEffect(() => field.current?.focus(), [])
  const copy = async () => {
    try {
      await clipboard?.writeText(value)
      told.value = texts.account.copied
    } catch {
      // The person or the browser may refuse the clipboard to the page.
      select()
      told.value = texts.account.selected
    }
  }
  return html`<div class="secret">
    <label>
      ${label}
      <textarea
        readonly
        rows=${value.length > 30 ? 3 : 1}
        spellcheck=${false}
        autocomplete="off"
        value=${value}
        ref=${field}
        onFocus=${select}
      ></textarea>
    </label>
    <p class="choices">
      ${clipboard && html`<button type="button" onClick=${copy}>${texts.account.copy}</button>`}
      ${fileName !== undefined && html`<button type="button" onClick=${() => save(value, fileName)}>${texts.account.save}</button>`}
    </p>
    <p class="hint" role="status">${told.value}</p>
  </div>`
}

function save(text: string, fileName: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([`${text}\n`], { type: 'application/octet-stream' }))
  link.download = fileName
  link.click()
  // The browser has taken the content by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
