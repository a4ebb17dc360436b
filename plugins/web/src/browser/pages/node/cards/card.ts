import type { ComponentChildren, VNode } from 'preact'
import { html } from '../../../html.ts'
import { type IconName, icon } from '../../../icon.ts'

interface CardProps {
  readonly icon: IconName
  readonly title: string
  /** The one thing that the person wants to know. */
  readonly fact?: string
  readonly kind?: '' | 'warning' | 'fault'
  /** The part of the page with the details: its name, and the text of the link. */
  readonly more?: readonly [part: string, text: string] | false
  readonly children?: ComponentChildren
}

/** A card of the overview. */
export function Card({ icon: name, title, fact, kind = '', more, children }: CardProps): VNode {
  return html`<section class=${`card ${kind}`} aria-label=${title}>
    <h2 class="label">${icon(name)} ${title}</h2>
    ${fact !== undefined && html`<p class="fact">${fact}</p>`}
    ${children}
    ${more && html`<p class="more"><a class="alone" href=${`#/node/${more[0]}`}>${more[1]}</a></p>`}
  </section>`
}
