import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'

/** The height of a row in CSS pixels, as in `page.css`. */
const rowHeight = 48

/** The rows above and below the visible part that exist too, so that scrolling shows no gaps. */
const margin = 10

interface VirtualRowsProps<T> {
  readonly label: string
  readonly items: readonly T[]
  /** Makes the cells of a row. */
  readonly row: (item: T) => VNode
  readonly keyOf: (item: T) => string
}

/** A table that only has the rows which can be seen, so that a long one stays smooth. It tells the position of each row. */
export function VirtualRows<T>({ label, items, row, keyOf }: VirtualRowsProps<T>): VNode {
  const element = useRef<HTMLDivElement>(null)
  const view = useSignal({ first: 0, count: 40 })
  const measure = () => {
    const { scrollTop, clientHeight } = element.current ?? { scrollTop: 0, clientHeight: 0 }
    const first = Math.max(0, Math.floor(scrollTop / rowHeight) - margin)
    const count = Math.ceil(clientHeight / rowHeight) + 2 * margin
    if (first !== view.value.first || count !== view.value.count) view.value = { first, count }
  }
  useEffect(() => {
    const observer = new ResizeObserver(measure)
    if (element.current !== null) observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  const { first, count } = view.value
  return html`<div class="rows" role="table" aria-label=${label} aria-rowcount=${items.length} ref=${element} onScroll=${measure} tabindex="0">
    <div role="rowgroup" style=${{ height: `${items.length * rowHeight}px` }}>
      ${items.slice(first, first + count).map((item, i) => {
        const style = { transform: `translateY(${(first + i) * rowHeight}px)` }
        return html`<div key=${keyOf(item)} class="row" role="row" aria-rowindex=${first + i + 1} style=${style}>${row(item)}</div>`
      })}
    </div>
  </div>`
}
