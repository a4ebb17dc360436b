import type { NoticeAction } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../html.ts'
import { icon } from '../icon.ts'
import * as texts from '../texts.ts'

interface Notice {
  readonly id: number
  readonly text: string
  readonly kind: 'done' | 'error'
  readonly action: NoticeAction | null
}

const shown = signal<readonly Notice[]>([])
let count = 0

/** Milliseconds that a notice stays, and one with an action. */
const shownMs = 6000
const offeredMs = 30_000

/** Shows a text, and returns a function that removes it. Errors stay until the person closes them. */
export function notice(text: string, kind: 'done' | 'error' = 'done', action?: NoticeAction): () => void {
  count += 1
  const id = count
  // A newer action takes the place of the one before: only the last change can be taken back.
  const others = shown.value.filter((other) => other.text !== text && !(action && other.action))
  shown.value = [...others.slice(-3), { id, text, kind, action: action ?? null }]
  if (kind === 'done') setTimeout(() => expire(id), action === undefined ? shownMs : offeredMs)
  return () => remove(id)
}

/** Shows the reason of a failure: the message of the node, or `otherwise`. An aborted request is no failure. */
export function noticeFailure(error: unknown, otherwise: string): void {
  if (error instanceof DOMException && error.name === 'AbortError') return
  notice(error instanceof TypeError || !(error instanceof Error) ? otherwise : error.message, 'error')
}

/** A button with the focus does not go away by itself. */
function expire(id: number): void {
  if (document.activeElement?.closest(`[data-notice="${id}"]`)) setTimeout(() => expire(id), shownMs)
  else remove(id)
}

function remove(id: number): void {
  shown.value = shown.value.filter((other) => other.id !== id)
}

/** Removes all texts. */
export function clearNotices(): void {
  shown.value = []
}

/**
 * The texts that are shown now, below the page. Programs that read the screen aloud read each new one. What stands at the bottom of the
 * window gets their height as `--notices`.
 */
export function Notices(): VNode {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const { current } = element
    if (current === null) return
    const { style } = document.documentElement
    const observer = new ResizeObserver(() => style.setProperty('--notices', `${current.offsetHeight}px`))
    observer.observe(current)
    return () => observer.disconnect()
  }, [])
  return html`<div class="notices" role="status" ref=${element}>
    ${shown.value.map((one) => html`<${Toast} key=${one.id} ...${one} />`)}
  </div>`
}

function Toast({ id, text, kind, action }: Notice): VNode {
  const act = () => {
    remove(id)
    action?.run()
  }
  return html`<p class=${`toast ${kind}`} data-notice=${id}>
    <span>${text}</span>
    ${action && html`<button type="button" onClick=${act}>${action.label}</button>`}
    <button type="button" class="icon-only" aria-label=${texts.close} onClick=${() => remove(id)}>${icon('x')}</button>
  </p>`
}
