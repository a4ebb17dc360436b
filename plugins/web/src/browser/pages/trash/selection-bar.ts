import type { VNode } from 'preact'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { type IconName, icon } from '../../icon.ts'
import * as texts from '../../texts.ts'
import type { Trash } from './trash.ts'
import type { TrashActions } from './trash-actions.ts'

interface SelectionBarProps {
  readonly trash: Trash
  readonly actions: TrashActions
}

/** The actions on the selected items, at the bottom of the window. */
export function SelectionBar({ trash: { selection }, actions }: SelectionBarProps): VNode | null {
  const [first, ...others] = selection.entries.value
  if (first === undefined) return null
  const selected = [first, ...others] as const
  const bytes = selected.reduce((sum, { size }) => sum + size, 0)
  const button = (text: string, name: IconName, act: () => void, kind = '') =>
    html`<button type="button" class=${`quiet ${kind}`} onClick=${act}>${icon(name)}<span>${text}</span></button>`
  const more = ({ currentTarget }: Event) => {
    actions.menuAt.value = currentTarget as Element
  }
  const none = () => {
    selection.none()
    actions.focusRows()
  }
  return html`<div class="bottom-bar selected" role="group" aria-label=${texts.files.selection}>
    <button type="button" class="quiet icon-only" aria-label=${texts.files.selectNone} title=${texts.files.selectNone} onClick=${none}>${icon('x')}</button>
    <span class="count"><strong>${selected.length.toLocaleString()}</strong><span class="note">${bytesText(bytes)}</span></span>
    ${button(texts.trash.restore, 'history', () => actions.restore(selected))}
    ${button(texts.trash.restoreTo, 'folder-input', () => void actions.restoreTo(selected), 'spare')}
    ${button(texts.files.deleteForGood, 'trash-2', () => void actions.delete(selected), 'danger')}
    <button type="button" class="quiet" aria-haspopup="menu" onClick=${more}>${icon('ellipsis')}<span>${texts.files.more}</span></button>
  </div>`
}
