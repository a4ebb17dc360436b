import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import * as texts from '../../texts.ts'
import { addressOf } from '../address.ts'
import { FrameAnswer, useFrameAnswer } from './frame-answer.ts'

const health = new FrameAnswer<NodeAnswers['GET /api/system/health']>({
  path: '/api/system/health',
  freshMs: 5000,
  // A backup that the owner began ends later than the request for it: the badge goes soon after.
  everyMs: (answer) => (answer !== null && answer.attention.length > 0 ? 10_000 : 60_000),
})

/** Tells the owner on every page how much needs them, and leads to it. Nothing is shown if nothing does. */
export function AttentionBadge(): VNode | null {
  const { attention = [] } = useFrameAnswer(health) ?? {}
  const count = attention.length
  if (count === 0) return null
  const kind = attention.every(({ ok }) => ok) ? 'warning' : 'fault'
  const label = texts.shell.attention(count)
  return html`<a class=${`badge attention-badge ${kind}`} href=${addressOf('/node')} aria-label=${label} title=${label}>
    ${icon('bell')}${count}
  </a>`
}
