import type { VNode } from 'preact'
import { bytesText } from '../../../bytes-text.ts'
import { html } from '../../../html.ts'
import * as texts from '../../../texts.ts'
import { UsageBar } from '../../../usage-bar.ts'
import { Card } from '../cards/card.ts'
import type { FileUsage } from '../parts/file-usage.ts'

const words = texts.node.overview.room

const { files: own, otherThings: others } = texts.usage.legend
const legend = { own, others }

/** With fewer days left, the card is a warning. */
const soonDays = 60

interface RoomCardProps {
  /** `null` while the node has no files. */
  readonly usage: FileUsage | null
  readonly fullInDays: number | null
}

/** How much room is left, and for how long it lasts. */
export function RoomCard({ usage, fullInDays }: RoomCardProps): VNode | null {
  const [mount] = usage?.mounts ?? []
  if (mount === undefined) return null
  const { bytes, space } = mount
  const isSoon = fullInDays !== null && fullInDays <= soonDays
  const fact = space === null ? words.used(bytesText(bytes)) : words.free(bytesText(space.free))
  return html`<${Card} icon="hard-drive" title=${words.title} fact=${fact} kind=${isSoon ? 'warning' : ''} more=${['storage', words.more]}>
    ${space && html`<${UsageBar} bytes=${bytes} space=${space} legend=${legend} />`}
    <p class="note">${[space && words.of(bytesText(space.total)), fullInDays !== null && words.full(fullInDays)].filter(Boolean).join(' ')}</p>
  <//>`
}
