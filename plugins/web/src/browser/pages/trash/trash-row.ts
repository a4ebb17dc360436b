import type { VNode } from 'preact'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText, shortDateText } from '../../times.ts'
import { iconOf } from '../files/entry-icon.ts'
import { kindOf } from '../files/entry-kind.ts'
import { folderOf, nameOf } from '../files/paths.ts'
import type { Trash, TrashItem } from './trash.ts'

interface TrashRowProps {
  readonly trash: Trash
  readonly item: TrashItem
  /** Its place in the list, from 0. */
  readonly index: number
  /** Pixels above it. */
  readonly top: number
}

/** A deleted file or folder as a row of the list. */
export function TrashRow({ trash: { selection }, item, index, top }: TrashRowProps): VNode {
  const { path, type, size, deleted } = item
  const name = nameOf(path)
  const shown = shownName(name)
  const folder = shownName(folderOf(path))
  const isSelected = selection.has(item)
  const bytes = bytesText(size)
  const date = shortDateText(deleted)
  const kind = kindOf({ name, type })
  return html`<div
    id=${`entry-${index}`}
    class=${selection.active.value === index ? 'row active' : 'row'}
    role="row"
    aria-rowindex=${index + 2}
    aria-selected=${isSelected}
    data-index=${index}
    style=${{ transform: `translateY(${top}px)` }}
  >
    <span role="gridcell">
      <label class="box"><input type="checkbox" tabindex="-1" checked=${isSelected} aria-label=${texts.files.of(texts.files.select, shown)} /></label>
    </span>
    <span role="gridcell" class="name">
      <span class=${`picture ${kind}`}>${icon(iconOf(kind))}</span>
      <span class="words">
        <bdi title=${shown}>${shown}</bdi>
        <span class="note">${texts.files.facts(date, bytes)}</span>
      </span>
    </span>
    <span role="gridcell" class="kind" title=${folder}><bdi>${folder}</bdi></span>
    <span role="gridcell" class="size">${bytes}</span>
    <time role="gridcell" class="changed" datetime=${deleted} title=${dateText(deleted)}>${date}</time>
    <span role="gridcell" class="more">
      <button type="button" class="quiet" tabindex="-1" aria-haspopup="menu" aria-label=${texts.files.of(texts.files.more, shown)}>${icon('ellipsis')}</button>
    </span>
  </div>`
}
