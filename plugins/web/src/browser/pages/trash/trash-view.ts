import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { Action, headingId } from '../../action.ts'
import { bytesText } from '../../bytes-text.ts'
import { EmptyState } from '../../empty-state.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import * as texts from '../../texts.ts'
import { TaskList } from '../files/task-list.ts'
import type { Tasks } from '../files/tasks.ts'
import { ItemDetails } from './item-details.ts'
import { ItemMenu } from './item-menu.ts'
import { SelectionBar } from './selection-bar.ts'
import type { Trash } from './trash.ts'
import type { TrashActions } from './trash-actions.ts'
import { TrashList } from './trash-list.ts'

const words = texts.trash

interface TrashViewProps {
  readonly page: PageContext
  readonly trash: Trash
  readonly actions: TrashActions
  readonly tasks: Tasks
}

/** The deleted files and folders, with what can be done with them. */
export function TrashView({ page, trash, actions, tasks }: TrashViewProps): VNode {
  const items = trash.items.value
  const isEmpty = items !== null && items.length === 0 && trash.cursor.value === null
  const isListed = items !== null && !isEmpty
  const days = trash.days.value
  const about = days === null ? '' : words.text(days)
  return html`<section class="files trash">
    <div class="page-head">
      <h1 id=${headingId} tabindex="-1">${words.title}</h1>
      ${isListed && html`<${Action} page=${page} danger run=${() => actions.empty()}>${icon('trash-2')} ${words.empty}<//>`}
    </div>
    <p class="fault" role="alert">${trash.fault.value}</p>
    ${isListed && html`<p class="note">${about}</p><${TrashList} trash=${trash} actions=${actions} />`}
    <div role="status">${isEmpty && html`<${EmptyState} icon="trash-2" title=${words.none} text=${about} />`}</div>
    <p class="status-line">
      <span class="hint" role="status">${statusText(trash)}</span>
      ${isListed && trash.cursor.value !== null && html`<${Action} page=${page} run=${() => trash.more()}>${words.more}<//>`}
    </p>
    <${TaskList} tasks=${tasks} />
    <${SelectionBar} trash=${trash} actions=${actions} />
    <${ItemMenu} trash=${trash} actions=${actions} />
    <${ItemDetails} actions=${actions} />
  </section>`
}

function statusText({ items: { value: items }, selection, fault, cursor }: Trash): string {
  if (fault.value !== '') return ''
  if (items === null) return texts.shell.loading
  if (items.length === 0 && cursor.value === null) return ''
  const selected = selection.entries.value
  if (selected.length === 0)
    return cursor.value === null ? texts.files.count(items.length) : words.newest(items.length)
  const bytes = selected.reduce((sum, { size }) => sum + size, 0)
  return texts.files.selectedCount(selected.length, items.length, bytesText(bytes))
}
