import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import * as texts from '../../texts.ts'
import { downloadArchive } from '../files/archive-download.ts'
import { canBeRead, downloadFile } from '../files/file-download.ts'
import { folderAddress, folderOf } from '../files/paths.ts'
import type { PhotoSelection } from './photo-selection.ts'

const words = texts.photos

interface SelectionBarProps {
  readonly page: PageContext
  readonly selection: PhotoSelection
  readonly onDelete: (paths: readonly string[]) => Promise<boolean>
}

/** The actions on the selected photos. */
export function SelectionBar({ page, selection, onDelete }: SelectionBarProps): VNode | null {
  const paths = [...selection.paths.value]
  const [first] = paths
  if (!selection.isOn.value) return null
  const download = async () => {
    if (first === undefined) return
    if (paths.length === 1) await downloadFile(page, first)
    else if (await canBeRead(page, '/')) downloadArchive(page, paths)
  }
  return html`<div class="bottom-bar" role="group" aria-label=${texts.files.selection}>
    <span role="status">${words.selected(paths.length)}</span>
    ${first !== undefined && html`<button type="button" class="quiet" onClick=${download}>${icon('download')}${texts.files.download}</button>`}
    ${first !== undefined && paths.length === 1 && html`<a class="button quiet" href=${folderAddress(folderOf(first))}>${icon('folder-open')}${words.inFolder}</a>`}
    ${first !== undefined && html`<button type="button" class="quiet" onClick=${() => onDelete(paths)}>${icon('trash-2')}${texts.files.delete}</button>`}
    <button type="button" class="quiet icon-only" aria-label=${words.selectNone} title=${words.selectNone} onClick=${() => selection.end()}>${icon('x')}</button>
  </div>`
}
