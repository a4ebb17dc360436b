import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../../html.ts'
import { usePolled } from '../../../polled.ts'
import { ifRunning } from '../../../refusal.ts'
import { texts } from '../../../texts.ts'
import { shortDateText } from '../../../times.ts'
import { Card, LoadingCard } from '../cards/card.ts'

type Status = NodeAnswers['GET /api/attention-webhook']

const words = texts.node.overview.messages

/** Shows which program is told when the node needs its owner. */
export function MessagesCard({ page }: { page: PageContext }): VNode | null {
  const loaded = usePolled<{ readonly status: Status | null }>(page, {
    load: async (get) => ({ status: await ifRunning(get('GET /api/attention-webhook')) }),
    pauseMs: () => 60_000,
  })
  if (loaded.value.value === null) return html`<${LoadingCard} />`
  const { status } = loaded.value.value
  if (status === null) return null
  const { receiver, toldAt, problem } = status
  const note =
    receiver === null
      ? words.offText
      : (problem ?? (toldAt === null ? words.untold : words.told(shortDateText(toldAt))))
  return html`<${Card}
    icon="webhook"
    title=${words.title}
    fact=${receiver ?? words.off}
    kind=${problem === null ? '' : 'warning'}
    more=${['messages', receiver === null ? words.how : words.more]}
  >
    <p class="note">${note}</p>
  <//>`
}
