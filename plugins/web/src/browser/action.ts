import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from './html.ts'
import { reasonOf } from './request.ts'

/** The id of the heading of what is shown. It takes the focus of a button that goes away. */
export const headingId = 'part'

interface ActionProps {
  readonly page: PageContext
  /** The name for programs that read the screen aloud, where the text alone does not tell it. */
  readonly label?: string
  readonly main?: boolean
  /** Whether it takes something away for good. */
  readonly danger?: boolean
  readonly run: () => Promise<unknown>
  readonly children: ComponentChildren
}

/**
 * A button that runs something once at a time, and shows why it failed. It keeps the focus meanwhile. If it goes away, as with its row,
 * the heading gets the focus.
 */
export function Action({ page, label, main = false, danger = false, run, children }: ActionProps): VNode {
  const element = useRef<HTMLButtonElement>(null)
  const isBusy = useSignal(false)
  // The focus goes with the button, so it is looked at before.
  useLayoutEffect(() => {
    const button = element.current
    return () => {
      if (button !== null && document.activeElement === button) document.getElementById(headingId)?.focus()
    }
  }, [])
  const click = async () => {
    if (isBusy.value) return
    isBusy.value = true
    try {
      await run()
    } catch (error) {
      page.notice(reasonOf(error), 'error')
    } finally {
      isBusy.value = false
    }
  }
  return html`<button
    type="button"
    class=${main ? 'main' : danger ? 'danger' : ''}
    ref=${element}
    aria-label=${label}
    aria-disabled=${isBusy.value}
    onClick=${click}
  >${children}</button>`
}
