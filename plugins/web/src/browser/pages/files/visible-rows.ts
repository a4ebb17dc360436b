import { useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'

/** The sizes of rows in CSS pixels. */
interface RowSizes {
  readonly height: number
  /** The height of the headings, which stay at the top; 0 without them. */
  readonly head: number
  /** The smallest width of an entry of a row that has several; `null` if a row has one. */
  readonly entryWidth: number | null
  /** The rows above and below the visible part that exist too, so that scrolling shows no gaps. */
  readonly margin: number
}

/** The sizes of the rows of lists and tiles, as in `page.css`. */
export const rowSizes: Readonly<Record<'list' | 'narrowList' | 'grid', RowSizes>> = {
  list: { height: 48, head: 40, entryWidth: null, margin: 10 },
  narrowList: { height: 60, head: 0, entryWidth: null, margin: 10 },
  grid: { height: 192, head: 0, entryWidth: 156, margin: 2 },
}

/** The most entries of a row. With it, no window is so large that the document has many hundred entries. */
const mostInRow = 10

interface VisibleRows {
  /** The index of the first row that exists. */
  readonly first: number
  /** The number of rows that exist. */
  readonly count: number
  /** The number of entries of a row. */
  readonly inRow: number
  /** Measures again after scrolling. */
  measure(): void
  /** Scrolls until an entry can be seen. */
  show(index: number): void
  /** The number of whole rows that can be seen. */
  page(): number
}

/** The rows of a list that can be seen. Only they exist, so that a long list stays smooth. */
export function useVisibleRows(list: { current: HTMLElement | null }, sizes: RowSizes): VisibleRows {
  const { height, head, entryWidth, margin } = sizes
  const view = useSignal({ first: 0, count: 0, inRow: 1 })
  const measure = () => {
    const { scrollTop, clientHeight, clientWidth } = list.current ?? noSize
    const first = Math.max(0, Math.floor(scrollTop / height) - margin)
    const count = Math.ceil(clientHeight / height) + 2 * margin
    const inRow =
      entryWidth === null ? 1 : Math.min(Math.max(Math.floor(clientWidth / entryWidth), 1), mostInRow)
    const before = view.value
    if (first !== before.first || count !== before.count || inRow !== before.inRow)
      view.value = { first, count, inRow }
  }
  useLayoutEffect(() => {
    measure()
    const observer = new ResizeObserver(measure)
    if (list.current !== null) observer.observe(list.current)
    return () => observer.disconnect()
  }, [sizes])
  return {
    ...view.value,
    measure,
    show(index) {
      const element = list.current
      if (element === null) return
      const top = Math.floor(index / view.value.inRow) * height
      const bottom = top + height + head - element.clientHeight
      if (element.scrollTop > top) element.scrollTop = top
      else if (element.scrollTop < bottom) element.scrollTop = bottom
      measure()
    },
    page: () => Math.max(1, Math.floor(((list.current?.clientHeight ?? 0) - head) / height) - 1),
  }
}

const noSize = { scrollTop: 0, clientHeight: 0, clientWidth: 0 }
