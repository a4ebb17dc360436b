import type { VNode } from 'preact'
import { html } from '../../../html.ts'

/** A measured value. */
export interface Point {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly value: number
}

interface PlotProps {
  /** The oldest one first; at least two. */
  readonly points: readonly Point[]
  /** Whether the lowest line is 0. Otherwise it is a little below the smallest value, so that small changes can be seen. */
  readonly fromZero: boolean
  readonly color: 'accent' | 'good'
}

/** The size of the drawing. It is stretched to the room that it gets. */
const [width, height] = [300, 60]
/** The room for the line itself. */
const margin = 2

/** A small plot of values over time. A text beside it tells what it shows. */
export function Plot({ points, fromZero, color }: PlotProps): VNode {
  const values = points.map(({ value }) => value)
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const range = most - least
  const floor = fromZero ? 0 : Math.max(0, least - (range || most))
  // A value that stays the same is a line in the middle.
  const ceiling = range === 0 ? 2 * most : most
  const [from, to] = [points[0]?.at ?? 0, points.at(-1)?.at ?? 0]
  const line = points
    .map(({ at, value }) => {
      const x = (width * (at - from)) / Math.max(1, to - from)
      const y =
        margin + (height - 2 * margin) * (1 - (value - floor) / Math.max(ceiling - floor, Number.EPSILON))
      return `${x.toFixed(1)},${y.toFixed(1)}`
    })
    .join(' L')
  return html`<svg class=${`plot ${color}`} viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
    <path class="area" d=${`M0,${height} L${line} L${width},${height} Z`} />
    <path class="line" d=${`M${line}`} vector-effect="non-scaling-stroke" />
  </svg>`
}
