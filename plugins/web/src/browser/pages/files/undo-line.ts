import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { texts } from '../../texts.ts'
import type { LastChange } from './last-change.ts'

/** Milliseconds that the line stays. */
const shownMs = 30_000

/** Says what the person changed last, with a button that takes it back. */
export function UndoLine({ change, onUndo }: { change: LastChange; onUndo: () => void }): VNode {
  const element = useRef<HTMLParagraphElement>(null)
  const told = change.told.value
  useEffect(() => {
    if (told === null) return
    const timer = setInterval(() => {
      // A button with the focus does not go away by itself.
      if (!element.current?.contains(document.activeElement)) change.clear()
    }, shownMs)
    return () => clearInterval(timer)
  }, [told])
  return html`<p class="undo" ref=${element} role="status">
    ${told !== null && html`<span>${told.text}</span>`}
    ${told !== null && told.group !== null && html`<button type="button" onClick=${onUndo}>${texts.files.undo}</button>`}
  </p>`
}
