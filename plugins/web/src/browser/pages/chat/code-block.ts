import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { copyText } from '../../copy-text.ts'
import { html } from '../../html.ts'
import { texts } from '../../texts.ts'

/** A block of code with a button that copies it. */
export function CodeBlock({ text, language }: { text: string; language: string }): VNode {
  const code = useRef<HTMLElement>(null)
  const told = useSignal('')
  const copy = async () => {
    told.value = (await copyText(text, code.current)) ? texts.chat.copied : texts.chat.selected
  }
  return html`<div class="code">
    <p class="bar">
      <span>${language}</span>
      <span role="status">${told.value}</span>
      <button type="button" onClick=${copy}>${texts.chat.copy}</button>
    </p>
    <pre tabindex="0"><code ref=${code}>${text}</code></pre>
  </div>`
}
