import type { VNode } from 'preact'
import { CodeBlock } from './code-block.ts'
import { html } from './html.ts'
import * as texts from './texts.ts'

/** The ways to connect a model, with what to type for each. */
export function ModelWays(): VNode {
  return html`${texts.chat.ways.map(
    ({ title, steps }) => html`<details key=${title} name="way">
      <summary>${title}</summary>
      ${steps.map(({ text, code }) => html`<p>${text}</p><${CodeBlock} text=${code} />`)}
    </details>`,
  )}`
}
