import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { blocks } from '../../markdown-blocks.ts'
import { tokensOf } from '../../markdown-tokens.ts'

/** A longer block is shown as it is until the reply is complete, because it is read anew with each piece. */
const longestBlock = 20_000

/**
 * Shows a text in markdown that grows at its end. Only the last block is read anew with each piece, so a long reply costs no more
 * than a short one.
 */
export function StreamingMarkdown({ text }: { text: string }): VNode {
  const complete = useRef({ length: 0, blocks: [] as unknown[] }).current
  const rest = text.slice(complete.length)
  if (rest.length > longestBlock)
    return html`<div class="markdown">${complete.blocks}<p class="plain">${rest}</p></div>`
  const tokens = tokensOf(rest)
  const isOpen = tokens.findLastIndex(({ type }) => type !== 'space')
  for (const token of tokens.splice(0, Math.max(isOpen, 0))) {
    complete.length += token.raw.length
    complete.blocks = [...complete.blocks, ...blocks([token])]
  }
  return html`<div class="markdown">${complete.blocks}${blocks(tokens)}</div>`
}
