import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { bytesText } from '../../../bytes-text.ts'
import { html } from '../../../html.ts'
import { texts } from '../../../texts.ts'
import { UsageBar } from '../../../usage-bar.ts'
import { useFileUsage } from '../parts/file-usage.ts'
import { Card } from './card.ts'

const words = texts.node.overview.room

/** With fewer days left, the card is a warning. */
const soonDays = 60

/** How much room is left, and for how long it lasts. */
export function RoomCard({ page, fullInDays }: { page: PageContext; fullInDays: number | null }): VNode | null {
  const { all } = useFileUsage(page)
  if (all === null) return null
  const [mount] = all.mounts
  if (mount === undefined) return null
  const { bytes, space } = mount
  const isSoon = fullInDays !== null && fullInDays <= soonDays
  const fact = space === null ? words.used(bytesText(bytes)) : words.free(bytesText(space.free))
  return html`<${Card} icon="hard-drive" title=${words.title} fact=${fact} kind=${isSoon ? 'warning' : ''} more=${['storage', words.more]}>
    ${space && html`<${UsageBar} bytes=${bytes} space=${space} />`}
    <p class="note">${[space && words.of(bytesText(space.total), bytesText(bytes)), fullInDays !== null && words.full(fullInDays)].filter(Boolean).join(' ')}</p>
  <//>`
}
