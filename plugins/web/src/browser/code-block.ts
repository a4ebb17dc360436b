import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { copyText } from './copy-text.ts'
import { html } from './html.ts'
import * as texts from './texts.ts'

interface CodeBlockProps {
  readonly text: string
  /** The name of its language, for people. */
  readonly language?: string
}

/** A block of code with a button that copies it: beside the name of its language, or beside the code if it has none. */
export function CodeBlock({ text, language }: CodeBlockProps): VNode {
  const code = useRef<HTMLElement>(null)
  const told = useSignal('')
  const copy = async () => {
    told.value = (await copyText(text, code.current)) ? texts.copied : texts.selected
  }
  return html`<div class=${language ? 'code' : 'code plain'}>
    <p class="bar">
      ${language && html`<span class="language">${language}</span>`}
      <span role="status">${told.value}</span>
      <button type="button" onClick=${copy}>${texts.copy}</button>
    </p>
    <pre tabindex="0"><code ref=${code}>${text}</code></pre>
  </div>`
}
