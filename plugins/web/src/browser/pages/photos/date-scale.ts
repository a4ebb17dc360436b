import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import * as texts from '../../texts.ts'
import { heightOf, monthAt, type PlacedMonth } from './photo-layout.ts'

/** Steps of the scale. */
const steps = 1000

interface DateScaleProps {
  readonly months: readonly PlacedMonth[]
  /** Pixels that are scrolled. */
  readonly top: number
  /** Pixels of the part that can be seen. */
  readonly height: number
  readonly onScroll: (top: number) => void
}

/** A scale of the years beside the photos. It scrolls to a month at once. */
export function DateScale({ months, top, height, onScroll }: DateScaleProps): VNode | null {
  const isUsed = useSignal(false)
  const most = heightOf(months) - height
  if (most < height) return null
  const shown = monthAt(months, top)
  const text = shown === undefined ? '' : monthText(shown.month)
  const scroll = ({ currentTarget }: Event) => {
    onScroll((Number((currentTarget as HTMLInputElement).value) / steps) * most)
  }
  const use = (used: boolean) => () => {
    isUsed.value = used
  }
  return html`<div class="scale">
    ${years(months).map(
      ({ year, top }) =>
        html`<span aria-hidden="true" style=${{ top: `${(100 * top) / heightOf(months)}%` }}>${year}</span>`,
    )}
    <input
      type="range"
      min="0"
      max=${steps}
      value=${Math.round((steps * top) / most)}
      aria-label=${texts.photos.scale}
      aria-orientation="vertical"
      aria-valuetext=${text}
      onInput=${scroll}
      onPointerDown=${use(true)}
      onPointerUp=${use(false)}
      onFocus=${use(true)}
      onBlur=${use(false)}
    />
    ${isUsed.value && html`<output aria-hidden="true" style=${{ top: `${(100 * top) / most}%` }}>${text}</output>`}
  </div>`
}

const monthNames = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** Writes a month, such as `May 2026`. */
export function monthText(month: string): string {
  return monthNames.format(new Date(`${month}-01T00:00:00Z`))
}

/** The years that have room for their numbers, with where they begin. */
function years(months: readonly PlacedMonth[]): { readonly year: string; readonly top: number }[] {
  const least = heightOf(months) / 12
  const found: { year: string; top: number }[] = []
  for (const { month, top } of months) {
    const year = month.slice(0, 4)
    const last = found.at(-1)
    if (last === undefined || (last.year !== year && top - last.top > least)) found.push({ year, top })
  }
  return found
}
