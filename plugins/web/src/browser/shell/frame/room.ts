import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { texts } from '../../texts.ts'
import { UsageBar } from '../../usage-bar.ts'
import { place } from '../address.ts'
import { shownPage } from '../page-host.ts'
import { signedOut } from '../session.ts'

type Usage = NodeAnswers['GET /api/files/usage']

/** Milliseconds for which an answer of the node is new enough. */
const freshMs = 30_000

const usage = signal<Usage | null>(null)
let askedAt = Number.NEGATIVE_INFINITY

/** Asks the node how much room is used. The page works without the answer. */
async function ask(): Promise<void> {
  if (performance.now() - askedAt < freshMs) return
  askedAt = performance.now()
  const ended = signedOut()
  const forget = () => {
    usage.value = null
    askedAt = Number.NEGATIVE_INFINITY
  }
  ended.addEventListener('abort', forget, { once: true })
  try {
    const answer = await fetch('/api/files/usage?path=/', { signal: ended })
    if (answer.ok) usage.value = (await answer.json()) as Usage
  } catch {
    // The node may be away, or the person has gone.
  }
  // Otherwise, each answer would leave a listener.
  ended.removeEventListener('abort', forget)
  if (ended.aborted) forget()
}

/** How much room the files of the person take, of what they may use. It is asked for again when the person goes to another place. */
export function Room(): VNode | null {
  useEffect(() => void ask(), [shownPage.value?.name, place.value])
  if (usage.value === null) return null
  const { bytes, kept, quota, space } = usage.value
  const taken = quota?.taken ?? bytes + kept.trash + kept.versions
  const total = quota?.bytes ?? space?.total
  const free = quota ? Math.max(0, quota.bytes - quota.taken) : space?.free
  if (total === undefined || free === undefined)
    return html`<p class="room">${texts.shell.roomUsed(bytesText(taken))}</p>`
  return html`<p class="room">
    ${quota ? texts.shell.roomOf(bytesText(taken), bytesText(total)) : texts.shell.roomUsed(bytesText(taken))}
    <${UsageBar} bytes=${taken} space=${{ free, total }} />
    ${texts.shell.roomFree(bytesText(free))}
  </p>`
}
