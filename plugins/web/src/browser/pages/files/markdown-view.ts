import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../../html.ts'
import { blocks } from '../../markdown-blocks.ts'
import * as texts from '../../texts.ts'

/** Shows a text in markdown. The reader of markdown is loaded when it is first needed. */
export function MarkdownView({ text }: { text: string }): VNode {
  const shown = useSignal<unknown[] | null>(null)
  const failed = useSignal(false)
  useLayoutEffect(() => {
    let isCurrent = true
    import('../../markdown-tokens.ts')
      .then(({ tokensOf }) => {
        if (isCurrent) shown.value = blocks(tokensOf(text))
      })
      .catch(() => {
        failed.value = true
      })
    return () => {
      isCurrent = false
    }
  }, [text])
  if (failed.value) return html`<pre tabindex="0" dir="auto">${text}</pre>`
  if (shown.value === null) return html`<p class="hint">${texts.shell.loading}</p>`
  return html`<div class="markdown">${shown.value}</div>`
}
