import type { ComponentChildren, VNode } from 'preact'
import { html } from './html.ts'
import { type IconName, icon } from './icon.ts'

interface EmptyStateProps {
  readonly icon: IconName
  readonly title: string
  readonly text?: string
  /** The next step, such as a button. */
  readonly children?: ComponentChildren
}

/** Fills a place where nothing is yet, and offers the next step. */
export function EmptyState({ icon: name, title, text = '', children }: EmptyStateProps): VNode {
  return html`<div class="empty">
    ${icon(name)}
    <h2>${title}</h2>
    ${text !== '' && html`<p>${text}</p>`}
    ${children !== undefined && html`<div class="choices">${children}</div>`}
  </div>`
}
