import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText, shortDateText } from '../../times.ts'
import { kindOf } from './entry-kind.ts'
import { EntryLink } from './entry-link.ts'
import { entryClass, sizeText } from './entry-looks.ts'
import type { EntryParts } from './entry-parts.ts'
import { EntryPicture } from './entry-picture.ts'
import type { Entry } from './listing.ts'
import { pathIn } from './paths.ts'

/** Of an entry that is shown. */
export interface ShownEntryProps {
  readonly entry: Entry
  /** Its place in the folder, from 0. */
  readonly index: number
  readonly parts: EntryParts
}

/** An entry as a row of the list. */
export function EntryRow({ entry, index, parts, top }: ShownEntryProps & { readonly top: number }): VNode {
  const { selection, path: folder } = parts.folder
  const path = pathIn(folder.value, entry.name)
  const isFolder = entry.type === 'directory'
  const isSelected = selection.has(entry)
  const shown = shownName(entry.name)
  const size = sizeText(entry, parts.folderSizes.value.get(path))
  const date = shortDateText(entry.modified)
  return html`<div
    id=${`entry-${index}`}
    class=${entryClass('row', index, path, parts)}
    role="row"
    aria-rowindex=${index + 2}
    aria-selected=${isSelected}
    data-index=${index}
    data-folder=${isFolder ? path : undefined}
    style=${{ transform: `translateY(${top}px)` }}
  >
    <span role="gridcell">
      <label class="box"><input type="checkbox" tabindex="-1" checked=${isSelected} aria-label=${texts.files.of(texts.files.select, shown)} /></label>
    </span>
    <span role="gridcell" class="name">
      <${EntryPicture} key=${entry.modified} entry=${entry} path=${path} previews=${parts.previews} speed=${parts.speed} />
      <span class="words">
        <${EntryLink} entry=${entry} path=${path} marks=${parts.marks} />
        <span class="note">${size === '' ? date : texts.files.facts(date, size)}</span>
      </span>
    </span>
    <span role="gridcell" class="kind">${texts.files.kinds[kindOf(entry)]}</span>
    <span role="gridcell" class="size">${size}</span>
    <time role="gridcell" class="changed" datetime=${entry.modified} title=${dateText(entry.modified)}>${date}</time>
    <span role="gridcell" class="more">
      <button type="button" class="quiet" tabindex="-1" aria-haspopup="menu" aria-label=${texts.files.of(texts.files.more, shown)}>${icon('ellipsis')}</button>
    </span>
  </div>`
}
