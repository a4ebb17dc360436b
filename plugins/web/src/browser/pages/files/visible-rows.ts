import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** The height of a row in CSS pixels, as in `page.css`. */
export const rowHeight = 48

/** The height of the row of headings in CSS pixels, as in `page.css`. */
const headHeight = 40

/** The rows above and below the visible part that exist too, so that scrolling shows no gaps. */
const margin = 10

interface VisibleRows {
  /** The index of the first row that exists. */
  readonly first: number
  /** The number of rows that exist. */
  readonly count: number
  /** Measures again after scrolling. */
  measure(): void
  /** Scrolls until a row can be seen. */
  show(index: number): void
  /** The number of whole rows that can be seen. */
  page(): number
}

/** The rows of a list that can be seen. Only they exist, so that a long list stays smooth. */
export function useVisibleRows(list: { current: HTMLElement | null }): VisibleRows {
  const view = useSignal({ first: 0, count: 40 })
  const measure = () => {
    const { scrollTop, clientHeight } = list.current ?? { scrollTop: 0, clientHeight: 0 }
    const first = Math.max(0, Math.floor(scrollTop / rowHeight) - margin)
    const count = Math.ceil(clientHeight / rowHeight) + 2 * margin
    if (first !== view.value.first || count !== view.value.count) view.value = { first, count }
  }
  useEffect(() => {
    const observer = new ResizeObserver(measure)
    if (list.current !== null) observer.observe(list.current)
    return () => observer.disconnect()
  }, [])
  return {
    ...view.value,
    measure,
    show(index) {
      const element = list.current
      if (element === null) return
      const top = index * rowHeight
      const bottom = top + rowHeight + headHeight - element.clientHeight
      if (element.scrollTop > top) element.scrollTop = top
      else if (element.scrollTop < bottom) element.scrollTop = bottom
      measure()
    },
    page: () => Math.max(1, Math.floor(((list.current?.clientHeight ?? 0) - headHeight) / rowHeight) - 1),
  }
}
