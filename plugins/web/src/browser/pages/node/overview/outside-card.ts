import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../../html.ts'
import { type Polled, usePolled } from '../../../polled.ts'
import { ifRunning } from '../../../refusal.ts'
import * as texts from '../../../texts.ts'
import { isThisComputer } from '../../../this-computer.ts'
import { Card } from '../cards/card.ts'

type Reach = NodeAnswers['GET /api/overlay/status']

const words = texts.node.overview.outside

/** Asks for the access from outside; `null` without the plugin. */
export function useReach(page: PageContext): Polled<{ readonly reach: Reach | null }> {
  return usePolled(page, {
    load: async (get) => ({ reach: await ifRunning(get('GET /api/overlay/status')) }),
    pauseMs: () => 30_000,
  })
}

/** Whether the node can be reached from outside, and at which address. */
export function OutsideCard({ reach }: { reach: Reach }): VNode {
  const { fact, note, kind } = toldBy(reach)
  const more = fact === words.machine ? words.open : words.more
  return html`<${Card} icon="globe" title=${words.title} fact=${fact} kind=${kind} more=${['overlay', more]}>
    <p class="note">${note}</p>
  <//>`
}

function toldBy({ connected, proxyEnabled, endsTls, addresses: [address] }: Reach) {
  const name = address === undefined ? null : new URL(address).host
  if (connected)
    return { fact: name ?? words.reachable, note: endsTls ? words.unread : words.connected, kind: '' }
  if (proxyEnabled) return { fact: name ?? words.waiting, note: words.waitingText, kind: 'warning' }
  if (name !== null) return { fact: name, note: words.configured, kind: '' }
  if (isThisComputer()) return { fact: words.machine, note: texts.node.overlay.phone.here, kind: '' }
  return { fact: words.home, note: words.homeText, kind: '' }
}
