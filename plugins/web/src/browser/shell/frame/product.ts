import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { nodeName } from '../node-name.ts'

/** The sign and the name of the node. It leads to the first page. */
export function Product(): VNode {
  return html`<a class="product" href="#/"><img src="/web/icon.svg" alt="" /><span>${nodeName}</span></a>`
}
