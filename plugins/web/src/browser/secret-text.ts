import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { copyText } from './copy-text.ts'
import { html } from './html.ts'
import * as texts from './texts.ts'

interface SecretTextProps {
  readonly label: string
  readonly value: string
  /** The name of the file in which it can be saved. Without it, there is no such button. */
  readonly fileName?: string
  /** Whether the secret is hidden until the person asks for it. */
  readonly hides?: boolean
}

/** Shows a secret that the person has to copy. */
export function SecretText({ label, value, fileName, hides = false }: SecretTextProps): VNode {
  const told = useSignal('')
  const isShown = useSignal(!hides)
  const field = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => field.current?.focus(), [isShown.value])
  const show = () => {
    isShown.value = true
  }
  const copy = async () => {
    told.value = (await copyText(value, field.current)) ? texts.copied : texts.selected
  }
  return html`<div class="secret">
    ${
      isShown.value
        ? html`<label>
            ${label}
            <textarea
              readonly
              rows=${value.length > 30 ? 3 : 1}
              spellcheck=${false}
              autocomplete="off"
              value=${value}
              ref=${field}
              onFocus=${() => field.current?.select()}
            ></textarea>
          </label>`
        : html`<p>${label}: <span class="hint">${texts.account.hidden}</span></p>`
    }
    <p class="choices">
      ${
        isShown.value
          ? html`<button type="button" onClick=${copy}>${texts.copy}</button>`
          : html`<button type="button" onClick=${show}>${texts.account.show}</button>`
      }
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
