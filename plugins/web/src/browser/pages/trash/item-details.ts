import type { VNode } from 'preact'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { makerText } from '../../maker-text.ts'
import { Dialog } from '../../questions.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText } from '../../times.ts'
import { folderOf, nameOf } from '../files/paths.ts'
import type { TrashActions } from './trash-actions.ts'

const words = texts.trash

/** Tells where an item was, how large it is, and who deleted it. */
export function ItemDetails({ actions }: { actions: TrashActions }): VNode | null {
  const item = actions.detailed.value
  if (item === null) return null
  const { path, type, size, entries, deleted } = item
  const bytes = bytesText(size)
  const isFolder = type === 'directory'
  const facts = [
    [words.columns.kind, shownName(folderOf(path))],
    [words.columns.size, isFolder ? words.sizeOfFolder(texts.files.count(entries), bytes) : bytes],
    [words.columns.changed, dateText(deleted)],
    [words.by, makerText(item)],
  ] as const
  const close = () => actions.closeDetails()
  const restore = () => {
    close()
    actions.restore([item])
  }
  return html`<${Dialog} title=${shownName(nameOf(path))} onClose=${close}>
    <dl class="item-facts">
      ${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`)}
    </dl>
    <p class="buttons">
      <button type="button" onClick=${close}>${texts.close}</button>
      <button type="button" class="main" onClick=${restore}>${words.restore}</button>
    </p>
  <//>`
}
