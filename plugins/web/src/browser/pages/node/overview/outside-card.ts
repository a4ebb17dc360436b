import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../../html.ts'
import { usePolled } from '../../../polled.ts'
import { ifRunning } from '../../../refusal.ts'
import { texts } from '../../../texts.ts'
import { Card, LoadingCard } from './card.ts'

interface Reach {
  readonly status: NodeAnswers['GET /api/overlay/status'] | null
  /** The https addresses of the node. */
  readonly addresses: readonly string[]
}

const words = texts.node.overview.outside

/** Whether the node can be reached from outside, and at which address. */
export function OutsideCard({ page }: { page: PageContext }): VNode {
  const reach = usePolled<Reach>(page, {
    async load(get) {
      const [status, { servers }] = await Promise.all([
        ifRunning(get('GET /api/overlay/status')),
        get('GET /openapi.json'),
      ])
      return { status, addresses: servers.map(({ url }) => url).filter((url) => url.startsWith('https:')) }
    },
    pauseMs: () => 60_000,
  })
  if (reach.value.value === null) return html`<${LoadingCard} />`
  const { status, addresses } = reach.value.value
  const [address] = addresses
  const name = address === undefined ? undefined : new URL(address).host
  const more = status === null ? {} : { more: ['overlay', words.more] }
  const card = (fact: string, note: string, kind = '') =>
    html`<${Card} icon="globe" title=${words.title} fact=${fact} kind=${kind} ...${more}><p class="note">${note}</p><//>`
  if (status?.connected) return card(name ?? words.reachable, words.connected)
  if (status?.proxyEnabled) return card(name ?? words.waiting, words.waitingText, 'warning')
  return name === undefined ? card(words.home, words.homeText) : card(name, words.configured)
}
