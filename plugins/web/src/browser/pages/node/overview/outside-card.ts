import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../../html.ts'
import { usePolled } from '../../../polled.ts'
import { ifRunning } from '../../../refusal.ts'
import { texts } from '../../../texts.ts'
import { Card, LoadingCard } from '../cards/card.ts'

type Reach = NodeAnswers['GET /api/overlay/status']

const words = texts.node.overview.outside

/** Whether the node can be reached from outside, and at which address. */
export function OutsideCard({ page }: { page: PageContext }): VNode | null {
  const loaded = usePolled<{ readonly reach: Reach | null }>(page, {
    load: async (get) => ({ reach: await ifRunning(get('GET /api/overlay/status')) }),
    pauseMs: () => 30_000,
  })
  if (loaded.value.value === null) return html`<${LoadingCard} />`
  const { reach } = loaded.value.value
  if (reach === null) return null
  const { fact, note, kind } = toldBy(reach)
  return html`<${Card} icon="globe" title=${words.title} fact=${fact} kind=${kind} more=${['overlay', words.more]}>
    <p class="note">${note}</p>
  <//>`
}

function toldBy({ connected, proxyEnabled, endsTls, addresses: [address] }: Reach) {
  const name = address === undefined ? null : new URL(address).host
  if (connected)
    return { fact: name ?? words.reachable, note: endsTls ? words.unread : words.connected, kind: '' }
  if (proxyEnabled) return { fact: name ?? words.waiting, note: words.waitingText, kind: 'warning' }
  if (name !== null) return { fact: name, note: words.configured, kind: '' }
  return { fact: words.home, note: words.homeText, kind: '' }
}
