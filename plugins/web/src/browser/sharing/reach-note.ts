import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../html.ts'
import { texts } from '../texts.ts'

interface ReachNoteProps {
  /** From where the addresses of links work. */
  readonly reach: NodeAnswers['GET /api/shares']['reach']
  readonly page: PageContext
}

const words = texts.links

/** Says that others cannot use links, and leads the owner to what opens the node to them. */
export function ReachNote({ reach, page }: ReachNoteProps): VNode | null {
  if (reach === 'everywhere') return null
  return html`<div class="reach">
    <p>${words.reach[reach]} ${!page.user.owner && words.askOwner}</p>
    ${page.user.owner && html`<p><a class="alone" href="#/node/overlay">${words.howToOpen}</a></p>`}
  </div>`
}
