import type { VNode } from 'preact'
import { html } from '../html.ts'

/** The sign of the node, above the title of each step before a person is signed in. */
export function Mark(): VNode {
  return html`<img src="/web/icon.svg" alt="" width="44" height="44" />`
}
