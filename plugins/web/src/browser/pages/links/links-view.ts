import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { headingId } from '../../action.ts'
import { EmptyState } from '../../empty-state.ts'
import { html } from '../../html.ts'
import { PolledState, usePolled } from '../../polled.ts'
import { ReachNote } from '../../sharing/reach-note.ts'
import * as texts from '../../texts.ts'
import { LinkCard } from './link-card.ts'

interface Lists {
  readonly own: NodeAnswers['GET /api/shares']
  /** Those of other users, for the owner of the node. */
  readonly others: NodeAnswers['GET /api/shares/all']['shares']
}

/** Milliseconds between two questions for the list. */
const pauseMs = 15_000

const words = texts.links

/** The links of the person. The owner of the node also sees, and ends, those of others. */
export function LinksView({ page }: { readonly page: PageContext }): VNode {
  const lists = usePolled<Lists>(page, {
    async load(get) {
      const own = await get('GET /api/shares')
      if (!page.user.owner) return { own, others: [] }
      const { shares } = await get('GET /api/shares/all')
      return { own, others: shares.filter(({ user }) => user.uuid !== page.user.uuid) }
    },
    pauseMs: () => pauseMs,
  })
  const { own, others = [] } = lists.value.value ?? {}
  const onChanged = () => lists.refresh()
  return html`<section class="links">
    <h1 id=${headingId} tabindex="-1">${words.title}</h1>
    <${PolledState} of=${lists} />
    ${own?.shares.length === 0 && html`<${EmptyState} icon="share-2" title=${words.none} text=${words.noneText} />`}
    ${own && own.shares.length > 0 && html`<p class="hint">${words.text}</p>`}
    ${own && html`<${ReachNote} reach=${own.reach} page=${page} />`}
    <ul class="cards" aria-label=${words.list}>
      ${own?.shares.map((share) => html`<${LinkCard} key=${share.id} page=${page} share=${share} days=${own} onChanged=${onChanged} />`)}
    </ul>
    ${
      others.length > 0 &&
      html`<h2>${words.others}</h2>
        <ul class="cards" aria-label=${words.others}>
          ${others.map((share) => html`<${LinkCard} key=${share.id} page=${page} share=${share} maker=${share.user.username} onChanged=${onChanged} />`)}
        </ul>`
    }
  </section>`
}
