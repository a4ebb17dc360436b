import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../../html.ts'
import { type Polled, usePolled } from '../../../polled.ts'
import { ifRunning } from '../../../refusal.ts'
import * as texts from '../../../texts.ts'
import { shortDateText } from '../../../times.ts'
import { Card } from '../cards/card.ts'

type Status = NodeAnswers['GET /api/attention-webhook']

const words = texts.node.overview.messages

/** Asks for the messages that leave the node; `null` without the plugin. */
export function useMessages(page: PageContext): Polled<{ readonly status: Status | null }> {
  return usePolled(page, {
    load: async (get) => ({ status: await ifRunning(get('GET /api/attention-webhook')) }),
    pauseMs: () => 60_000,
  })
}

/** Shows which program is told when the node needs its owner. */
export function MessagesCard({ status }: { status: Status }): VNode {
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
