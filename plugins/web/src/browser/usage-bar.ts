import type { VNode } from 'preact'
import { html } from './html.ts'

/** The room of a storage, in bytes. */
interface Space {
  readonly free: number
  readonly total: number
}

/** A bar of the room of a storage: what these files take, what everything else takes, and what is free. The text beside it tells it. */
export function UsageBar({ bytes, space }: { bytes: number; space: Space }): VNode {
  const { free, total } = space
  const width = (part: number) => ({
    width: `${(100 * Math.min(Math.max(part, 0), total)) / Math.max(total, 1)}%`,
  })
  return html`<span class="usage-bar" aria-hidden="true">
    <span class=${bytes > 0 ? 'own' : ''} style=${width(bytes)}></span>
    <span class="others" style=${width(total - free - bytes)}></span>
  </span>`
}
