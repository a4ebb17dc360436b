import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { texts } from '../../texts.ts'
import { addressOf, place } from '../address.ts'
import { shownPage } from '../page-host.ts'
import { signedOut } from '../session.ts'

type Attention = NodeAnswers['GET /api/system/health']['attention']

/** Milliseconds between two questions while the person stays at one place. */
const pauseMs = 60_000
/** Milliseconds for which an answer is new enough when the person goes to another place. */
const freshMs = 5000

const attention = signal<Attention>([])
let askedAt = Number.NEGATIVE_INFINITY

/** Asks the node what needs the owner. The page works without the answer. */
async function ask(): Promise<void> {
  if (performance.now() - askedAt < freshMs) return
  askedAt = performance.now()
  const signal = signedOut()
  const forget = () => {
    attention.value = []
    askedAt = Number.NEGATIVE_INFINITY
  }
  signal.addEventListener('abort', forget, { once: true })
  try {
    const answer = await fetch('/api/system/health', { signal })
    if (answer.ok)
      attention.value = ((await answer.json()) as NodeAnswers['GET /api/system/health']).attention
  } catch {
    // The node may be away, or the person has gone.
  }
  // Otherwise, each answer would leave a listener.
  signal.removeEventListener('abort', forget)
  if (signal.aborted) forget()
}

/** Tells the owner on every page how much needs them, and leads to it. Nothing is shown if nothing does. */
export function AttentionBadge(): VNode | null {
  useEffect(() => void ask(), [shownPage.value?.name, place.value])
  useEffect(() => {
    const timer = setInterval(() => {
      // A tab that nobody sees costs the node nothing.
      if (!document.hidden) void ask()
    }, pauseMs)
    return () => clearInterval(timer)
  }, [])
  const count = attention.value.length
  if (count === 0) return null
  const kind = attention.value.every(({ ok }) => ok) ? 'warning' : 'fault'
  const label = texts.shell.attention(count)
  return html`<a class=${`badge attention-badge ${kind}`} href=${addressOf('/node')} aria-label=${label} title=${label}>
    ${icon('bell')}${count}
  </a>`
}
