import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { VNode } from 'preact'
import { bytesText } from '../../../bytes-text.ts'
import { html } from '../../../html.ts'
import * as texts from '../../../texts.ts'
import { Card } from './card.ts'
import { Plot, type Point } from './plot.ts'

type Periods = NodeAnswers['GET /api/node-history/days']['periods']
type Period = Periods[number]

const words = texts.node.overview.history

/** The storage of the last days. */
export function StorageCard({ days, isLinked = true }: { days: Periods; isLinked?: boolean }): VNode {
  const points = pointsOf(days, ({ files }) => files)
  const [first, last] = [points[0], points.at(-1)]
  return html`<${Card} icon="database" title=${words.storage} more=${isLinked && ['storage', words.storageMore]}>
    <${PlotOrNote} points=${points} fromZero=${false} color="accent" />
    ${first && last && first !== last && html`<p class="note">${changeText(first, last)}</p>`}
  <//>`
}

/** The requests and the load of the last hours. */
export function LoadCard({ hours }: { hours: Periods }): VNode {
  const points = pointsOf(hours, ({ requests }) => requests)
  const sum = points.reduce((total, { value }) => total + value, 0)
  const loads = hours.flatMap(({ load }) => load ?? [])
  const mean = loads.reduce((total, load) => total + load, 0) / Math.max(loads.length, 1)
  return html`<${Card} icon="activity" title=${words.load}>
    <${PlotOrNote} points=${points} fromZero=${true} color="good" />
    <p class="note">${words.requests(sum)} ${loads.length > 0 && words.busy(Math.round(mean * 100))}</p>
  <//>`
}

interface PlotOrNoteProps {
  readonly points: readonly Point[]
  readonly fromZero: boolean
  readonly color: 'accent' | 'good'
}

/** One point is no line. */
function PlotOrNote(props: PlotOrNoteProps): VNode {
  return props.points.length < 2 ? html`<p class="note">${words.tooFew}</p>` : html`<${Plot} ...${props} />`
}

function changeText(first: Point, last: Point): string {
  const change = last.value - first.value
  const days = Math.round((last.at - first.at) / 86_400_000)
  const now = words.now(bytesText(last.value))
  if (days === 0 || change === 0) return now
  const since = texts.daysAgo(days)
  return `${now} ${change > 0 ? words.more(bytesText(change), since) : words.less(bytesText(-change), since)}`
}

/** Returns the values of one measurement, without the periods that lack it. */
function pointsOf(periods: Periods, of: (period: Period) => number | null): Point[] {
  return periods.flatMap((period) => {
    const value = of(period)
    return value === null ? [] : [{ at: Date.parse(period.begins), value }]
  })
}
