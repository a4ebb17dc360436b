import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { VNode } from 'preact'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import * as texts from '../../texts.ts'
import { UsageBar } from '../../usage-bar.ts'
import { FrameAnswer, useFrameAnswer } from './frame-answer.ts'

const usage = new FrameAnswer<NodeAnswers['GET /api/files/usage']>({
  path: '/api/files/usage?path=/',
  freshMs: 30_000,
  // Until the node has counted all.
  everyMs: (answer) => (answer?.isComplete === false ? 2000 : null),
})

/** How much room the files of the person take, of what they may use. */
export function Room(): VNode | null {
  const answer = useFrameAnswer(usage)
  if (answer === null) return null
  const { bytes, kept, quota, space } = answer
  const taken = quota?.taken ?? bytes + kept.trash + kept.versions
  const total = quota?.bytes ?? space?.total
  const free = quota ? Math.max(0, quota.bytes - quota.taken) : space?.free
  const { roomUsed, roomOf } = texts.shell
  if (total === undefined || free === undefined)
    return html`<p class="room">${roomUsed(bytesText(taken))}</p>`
  const legend = {
    own: quota ? (bytes: string) => roomOf(bytes, bytesText(total)) : roomUsed,
    others: texts.usage.legend.otherThings,
  }
  return html`<p class="room"><${UsageBar} bytes=${taken} space=${{ free, total }} legend=${legend} /></p>`
}
