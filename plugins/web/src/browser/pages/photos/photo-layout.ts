import type { Month } from './photos.ts'

/** The sizes of the grid, in CSS pixels. */
export interface GridSizes {
  readonly columns: number
  /** The height of a tile, with the gap below it. */
  readonly row: number
  /** The height of the name of a month, with the gap below the month before. */
  readonly head: number
}

/** A month in the grid. */
export interface PlacedMonth extends Month {
  /** Pixels from the top of the grid. */
  readonly top: number
  readonly height: number
}

/** A part of a month that can be seen. */
export interface VisibleMonth extends PlacedMonth {
  /** The index of the first photo that exists, and the one after the last. */
  readonly from: number
  readonly to: number
}

/** The pixels above and below the visible part in which tiles exist, too. */
const margin = 400

/** Places all months below each other. The heights follow from the numbers of photos, so nothing of them has to be loaded. */
export function placed(months: readonly Month[], { columns, row, head }: GridSizes): PlacedMonth[] {
  let top = 0
  return months.map((month) => {
    const height = head + Math.ceil(month.photos / columns) * row
    const place = { ...month, top, height }
    top += height
    return place
  })
}

/** Returns the height of all months. */
export function heightOf(months: readonly PlacedMonth[]): number {
  const last = months.at(-1)
  return last === undefined ? 0 : last.top + last.height
}

/** Returns what of the months can be seen. */
export function visible(
  months: readonly PlacedMonth[],
  { columns, row, head }: GridSizes,
  { top, height }: { readonly top: number; readonly height: number },
): VisibleMonth[] {
  const [start, end] = [top - margin, top + height + margin]
  return months.flatMap((month) => {
    if (month.top + month.height < start || month.top > end) return []
    const rows = month.top + head
    const from = columns * Math.max(0, Math.floor((start - rows) / row))
    const to = columns * Math.max(0, Math.ceil((end - rows) / row))
    return [{ ...month, from: Math.min(from, month.photos), to: Math.min(to, month.photos) }]
  })
}

/** Returns the month at a height of the grid. */
export function monthAt(months: readonly PlacedMonth[], top: number): PlacedMonth | undefined {
  return months.findLast((month) => month.top <= top) ?? months[0]
}
