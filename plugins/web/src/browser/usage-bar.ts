import type { VNode } from 'preact'
import { bytesText } from './bytes-text.ts'
import { html } from './html.ts'
import * as texts from './texts.ts'

/** The room of a storage, in bytes. */
interface Space {
  readonly free: number
  readonly total: number
}

interface UsageBarProps {
  readonly bytes: number
  readonly space: Space
  /** The words for the parts, with the bytes of each. Without them, the text beside the bar tells what they are. */
  readonly legend?: Readonly<Record<'own' | 'others', (bytes: string) => string>>
}

/** A bar of the room of a storage: what these files take, what everything else takes, and what is free. A legend tells the parts apart. */
export function UsageBar({ bytes, space, legend }: UsageBarProps): VNode {
  const { free, total } = space
  const others = Math.max(0, total - free - bytes)
  const width = (part: number) => ({
    width: `${(100 * Math.min(Math.max(part, 0), total)) / Math.max(total, 1)}%`,
  })
  return html`<span class="usage-bar" aria-hidden="true">
      <span class=${bytes > 0 ? 'own' : ''} style=${width(bytes)}></span>
      <span class="others" style=${width(others)}></span>
    </span>
    ${
      legend &&
      html`<span class="usage-legend">
        <span class="own">${legend.own(bytesText(bytes))}</span>
        ${others > 0 && html`<span class="others">${legend.others(bytesText(others))}</span>`}
        <span>${texts.usage.legend.free(bytesText(free))}</span>
      </span>`
    }`
}
