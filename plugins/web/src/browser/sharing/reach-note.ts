import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../html.ts'
import * as texts from '../texts.ts'

interface ReachNoteProps {
  /** From where the addresses of the node work that are shown. */
  readonly reach: NodeAnswers['GET /api/shares']['reach']
  /** The reason why others cannot use them. Default: that of links. */
  readonly text?: string
  readonly page: PageContext
}

const words = texts.links

/** Says that others cannot use an address, and leads the owner to what opens the node to them. */
export function ReachNote({ reach, text, page }: ReachNoteProps): VNode | null {
  if (reach === 'everywhere') return null
  return html`<div class="reach">
    <p>${text ?? words.reach[reach]} ${!page.user.owner && words.askOwner}</p>
    ${page.user.owner && html`<p><a class="alone" href="#/node/overlay">${words.howToOpen}</a></p>`}
  </div>`
}
