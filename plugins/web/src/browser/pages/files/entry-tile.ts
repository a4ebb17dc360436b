import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { shortDateText } from '../../times.ts'
import { EntryLink } from './entry-link.ts'
import { entryClass, sizeText } from './entry-looks.ts'
import { EntryPicture } from './entry-picture.ts'
import type { ShownEntryProps } from './entry-row.ts'
import { pathIn } from './paths.ts'

/** An entry as a tile of the grid. */
export function EntryTile({ entry, index, parts }: ShownEntryProps): VNode {
  const { selection, path: folder } = parts.folder
  const path = pathIn(folder.value, entry.name)
  const isFolder = entry.type === 'directory'
  const isSelected = selection.has(entry)
  const shown = shownName(entry.name)
  const size = parts.folderSizes.value.get(path)
  const note =
    isFolder && size !== undefined ? texts.files.count(size.entries) : shortDateText(entry.modified)
  return html`<div
    id=${`entry-${index}`}
    class=${entryClass('tile', index, path, parts)}
    role="gridcell"
    aria-selected=${isSelected}
    data-index=${index}
    data-folder=${isFolder ? path : undefined}
    title=${isFolder ? undefined : sizeText(entry, undefined)}
  >
    <label class="box"><input type="checkbox" tabindex="-1" checked=${isSelected} aria-label=${texts.files.of(texts.files.select, shown)} /></label>
    <${EntryPicture} key=${entry.modified} entry=${entry} path=${path} isLarge previews=${parts.previews} speed=${parts.speed} />
    <span class="words">
      <${EntryLink} entry=${entry} path=${path} marks=${parts.marks} />
      <span class="note">${note}</span>
    </span>
    <span class="more">
      <button type="button" class="quiet" tabindex="-1" aria-haspopup="menu" aria-label=${texts.files.of(texts.files.more, shown)}>${icon('ellipsis')}</button>
    </span>
  </div>`
}
