import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { Action, headingId } from '../../action.ts'
import { bytesText } from '../../bytes-text.ts'
import { EmptyState } from '../../empty-state.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { makerText } from '../../maker-text.ts'
import { ask } from '../../questions.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import { dateText } from '../../times.ts'
import { chooseFolder } from '../files/folder-choice.ts'
import { folderOf, nameOf, pathIn } from '../files/paths.ts'
import type { Trash, TrashItem } from './trash.ts'

const words = texts.trash

interface TrashViewProps {
  readonly page: PageContext
  readonly trash: Trash
}

/** The deleted files and folders, with what can be done with them. */
export function TrashView({ page, trash }: TrashViewProps): VNode {
  const items = trash.items.value
  const empty = async () => {
    const { items, bytes } = await trash.count()
    const title = words.emptyTitle(items, bytesText(bytes))
    if ((await ask({ title, text: words.forGoodText, agree: words.empty })) === null) return
    await trash.empty()
    page.notice(words.emptied)
  }
  const isEmpty = items !== null && items.length === 0 && trash.cursor.value === null
  return html`<section class="trash">
    <div class="page-head">
      <h1 id=${headingId} tabindex="-1">${words.title}</h1>
      ${items !== null && !isEmpty && html`<${Action} page=${page} run=${empty}>${icon('trash-2')} ${words.empty}<//>`}
    </div>
    <p class="fault" role="alert">${trash.fault.value}</p>
    <div role="status">
      ${items === null && trash.fault.value === '' && html`<p class="hint">${texts.shell.loading}</p>`}
      ${isEmpty && html`<${EmptyState} icon="trash-2" title=${words.none} text=${words.text} />`}
    </div>
    ${items !== null && !isEmpty && html`<p class="hint">${words.text}</p>`}
    <ul class="items" aria-label=${words.list}>
      ${items?.map((item) => html`<${Item} key=${item.id} page=${page} trash=${trash} item=${item} />`)}
    </ul>
    ${items !== null && trash.cursor.value !== null && html`<${Action} page=${page} run=${() => trash.more()}>${words.more}<//>`}
  </section>`
}

function Item({ page, trash, item }: TrashViewProps & { readonly item: TrashItem }): VNode {
  const { path, type, size, entries, deleted } = item
  const name = shownName(nameOf(path))
  const bytes = bytesText(size)
  const remove = async () => {
    const title = words.deleteTitle(name)
    if ((await ask({ title, text: words.forGoodText, agree: texts.files.deleteForGood })) === null) return
    await trash.delete(item)
  }
  const restoreTo = async () => {
    const question = { title: words.restoreTitle(name), agree: words.restoreHere, start: '/', other: false }
    const folder = await chooseFolder(question)
    if (folder !== null) await trash.restore(item, pathIn(folder, nameOf(path)))
  }
  const action = (text: string, run: () => Promise<void>) =>
    html`<${Action} page=${page} label=${texts.files.of(text, name)} run=${run}>${text}<//>`
  return html`<li>
    ${icon(type === 'directory' ? 'folder' : 'file')}
    <div class="grow">
      <strong><bdi>${name}</bdi></strong>
      <p class="note">${words.folder} <bdi>${shownName(folderOf(path))}</bdi></p>
      <p class="note facts">
        <span>${type === 'directory' ? words.sizeOfFolder(texts.files.count(entries), bytes) : bytes}</span>
        <span>${words.deleted} <time dateTime=${deleted}>${dateText(deleted)}</time></span>
        <span><bdi>${words.by(makerText(item))}</bdi></span>
      </p>
    </div>
    <p class="choices">
      ${action(words.restore, () => trash.restore(item))}
      ${action(words.restoreTo, restoreTo)}
      ${action(texts.files.deleteForGood, remove)}
    </p>
  </li>`
}
