import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { type IconName, icon } from '../../icon.ts'
import * as texts from '../../texts.ts'
import { sizeOfAll } from './entry-looks.ts'
import type { EntryParts } from './entry-parts.ts'
import type { ListMenu } from './list-menu.ts'

interface SelectionBarProps {
  readonly parts: EntryParts
  readonly menu: ListMenu
}

/** The actions on the selected entries, at the bottom of the window. Nothing else moves when it appears. */
export function SelectionBar({ parts: { folder, actions, marks }, menu }: SelectionBarProps): VNode | null {
  const selected = folder.selection.entries.value
  const [first] = selected
  if (first === undefined) return null
  const isOne = selected.length === 1
  const canShare = marks.linked.isOffered.value && isOne
  const button = (text: string, name: IconName, act: () => void, kind = '') =>
    html`<button type="button" class=${`quiet ${kind}`} onClick=${act}>${icon(name)}<span>${text}</span></button>`
  const more = ({ currentTarget }: Event) => menu.ofSelection(currentTarget as Element)
  const none = () => {
    folder.selection.none()
    actions.focusRows()
  }
  return html`<div class="bottom-bar selected" role="group" aria-label=${texts.files.selection}>
    <button type="button" class="quiet icon-only" aria-label=${texts.files.selectNone} title=${texts.files.selectNone} onClick=${none}>${icon('x')}</button>
    <span class="count"><strong>${selected.length.toLocaleString()}</strong><span class="note">${sizeOfAll(selected)}</span></span>
    ${button(texts.files.download, 'download', () => void actions.download(selected))}
    ${isOne && button(texts.files.rename, 'pencil', () => void actions.rename(first), 'spare')}
    ${button(texts.files.move, 'folder-input', () => void actions.move(selected), canShare ? 'spare' : '')}
    ${button(texts.files.copy, 'copy', () => void actions.copy(selected), 'spare')}
    ${isOne && first.type === 'file' && button(texts.versions.title, 'history', () => actions.showVersions(first), 'spare')}
    ${canShare && button(texts.links.share, 'share-2', () => void actions.share(first))}
    ${button(texts.files.delete, 'trash-2', () => void actions.delete(selected), actions.hasTrash ? '' : 'danger')}
    <button type="button" class="quiet" aria-haspopup="menu" onClick=${more}>${icon('ellipsis')}<span>${texts.files.more}</span></button>
  </div>`
}
