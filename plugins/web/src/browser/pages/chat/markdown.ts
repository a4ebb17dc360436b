import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { html } from '../../html.ts'
import { blocks } from '../../markdown-blocks.ts'
import { tokensOf } from '../../markdown-tokens.ts'

/** Shows a text in markdown, as models write it. HTML in it is shown as text, and pictures are links, so nothing is loaded. */
export function Markdown({ text }: { text: string }): VNode {
  return useMemo(() => html`<div class="markdown">${blocks(tokensOf(text))}</div>`, [text])
}
