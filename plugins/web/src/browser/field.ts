import type { VNode } from 'preact'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { html } from './html.ts'

interface FieldProps {
  readonly label: string
  readonly hint?: string
  /** The fault of the value; empty if there is none. */
  readonly fault: string
  /** Whether it takes the focus when it appears. */
  readonly focused?: boolean
  readonly [attribute: string]: unknown
}

/** A field of a form. What is wrong with its value stands below it, marks it and moves the focus to it. */
export function Field({ label, hint = '', fault, focused = false, ...attributes }: FieldProps): VNode {
  const input = useRef<HTMLInputElement>(null)
  // The shell and a page may show fields at the same time, each with a copy of this module.
  const id = useMemo(() => `field-${Math.random().toString(36).slice(2)}`, [])
  useLayoutEffect(() => {
    if (focused) input.current?.focus()
  }, [])
  useLayoutEffect(() => {
    if (fault === '') return
    input.current?.focus()
    input.current?.closest('.field')?.scrollIntoView({ block: 'nearest' })
  }, [fault])
  return html`<div class="field">
    <label>
      ${label}
      <input ...${attributes} ref=${input} aria-invalid=${fault !== ''} aria-describedby=${`${id}-fault ${id}-hint`} />
    </label>
    <p class="fault" role="alert" id=${`${id}-fault`}>${fault}</p>
    <p class="hint" aria-live="polite" id=${`${id}-hint`}>${hint}</p>
  </div>`
}
