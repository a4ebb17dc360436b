import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { EmptyState } from '../../empty-state.ts'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { useMedia } from '../../media.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import type { CutUploads } from './cut-uploads.ts'
import { CutUploadsLine } from './cut-uploads-line.ts'
import { Details } from './details.ts'
import { EntryList } from './entry-list.ts'
import { sizeOfAll } from './entry-looks.ts'
import type { EntryParts } from './entry-parts.ts'
import type { Folder } from './folder.ts'
import { FolderTools } from './folder-tools.ts'
import { useUsage } from './folder-usage.ts'
import { type ListMenu, OpenedMenu } from './list-menu.ts'
import { MarkLegend } from './mark-legend.ts'
import { folderAddress, folderOf, nameOf } from './paths.ts'
import type { Search } from './search.ts'
import { SearchResults } from './search-results.ts'
import { SelectionBar } from './selection-bar.ts'
import type { StoredCheck } from './stored-check.ts'
import { TaskList } from './task-list.ts'
import type { Tasks } from './tasks.ts'

interface FolderViewProps {
  readonly parts: EntryParts
  readonly menu: ListMenu
  readonly tasks: Tasks
  readonly search: Search
  readonly check: StoredCheck
  readonly cuts: CutUploads
  readonly page: PageContext
}

/** The folder that is shown: where it is, what can be done, and its entries. */
export function FolderView({ parts, menu, tasks, search, check, cuts, page }: FolderViewProps): VNode {
  const { folder, actions, marks, previews, folderSizes, dragged } = parts
  const usage = useUsage(folder, page)
  useLayoutEffect(() => {
    const known = usage.answer?.folders.map((one) => [one.path, one] as const)
    folderSizes.value = new Map(known)
  }, [usage.answer])
  useLayoutEffect(() => {
    if (folder.entries.value === null) return
    for (const marked of [marks.published, marks.linked]) marked.folderListed(folder.path.value)
  }, [folder.entries.value])
  const closeSearch = () => {
    search.close()
    actions.focusRows()
  }
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !search.isOpen.value) return
      if (document.querySelector('dialog[open], :popover-open, .viewer') !== null) return
      event.preventDefault()
      closeSearch()
    }
    addEventListener('keydown', press, { signal: page.signal })
  }, [])
  return html`<section class="files">
    <div class="page-head">
      ${
        search.isOpen.value
          ? html`<h1>${texts.search.title}</h1>`
          : html`<${Path} parts=${parts} /><${FolderTools} parts=${parts} check=${check} />`
      }
    </div>
    ${
      search.isOpen.value
        ? html`<${SearchResults} ...${{ search, folder, actions, previews }} onClose=${closeSearch} />`
        : html`<p class="fault" role="alert">${folder.fault.value}</p>
          <div class="content">
            <div class="entries">
              <${EntryList} parts=${parts} menu=${menu} />
              <${Nothing} parts=${parts} />
            </div>
            <${Details} parts=${parts} usage=${usage} page=${page} />
          </div>
          <p class="status-line"><span class="hint" role="status">${statusText(folder)}</span> <${MarkLegend} folder=${folder} marks=${marks} /> <a class="alone" href="#/trash">${texts.trash.title}</a></p>
          <${OpenedMenu} menu=${menu} />`
    }
    <${CutUploadsLine} cuts=${cuts} folder=${folder} page=${page} />
    <${TaskList} tasks=${tasks} />
    ${!search.isOpen.value && html`<${SelectionBar} parts=${parts} menu=${menu} />`}
    ${dragged.value?.isOfDevice === true && html`<p class="drop">${dropText(dragged.value.folder)}</p>`}
  </section>`
}

/** In the place of the entries while there are none. */
function Nothing({ parts: { folder, actions } }: Pick<FolderViewProps, 'parts'>): VNode | null {
  const isPointed = useMedia('(hover: hover)')
  const entries = folder.entries.value
  if (folder.fault.value !== '' || (entries !== null && entries.length > 0)) return null
  if (entries === null)
    return html`<div class="nothing loading">${[1, 2, 3, 4, 5].map((i) => html`<span key=${i} class="skeleton"></span>`)}</div>`
  return html`<div class="nothing">
    <${EmptyState} icon="folder-open" title=${texts.files.emptyTitle} text=${isPointed ? texts.files.emptyText : ''}>
      <button type="button" onClick=${() => actions.choose('files')}>${icon('upload')}${texts.files.uploadFiles}</button>
      <button type="button" onClick=${() => void actions.makeFolder()}>${icon('folder-plus')}${texts.files.newFolder}</button>
    <//>
  </div>`
}

/** The names of the path, each with a link to its folder. Entries can be dropped on them. */
function Path({ parts: { folder, dragged } }: Pick<FolderViewProps, 'parts'>): VNode {
  const path = folder.path.value
  const names = path.split('/').filter(Boolean)
  const folders = names.map((name, i) => ({ name, at: `/${names.slice(0, i + 1).join('/')}` }))
  const over = dragged.value?.folder
  const link = (name: string, at: string) =>
    html`<a href=${folderAddress(at)} data-folder=${at} draggable=${false} class=${at === over ? 'over' : ''} aria-current=${at === path && 'page'}><bdi>${name}</bdi></a>`
  return html`<nav class="breadcrumb" aria-label=${texts.files.path}>
    ${path !== '/' && html`<a class="up button quiet icon-only" href=${folderAddress(folderOf(path))} aria-label=${texts.files.up} title=${texts.files.up}>${icon('arrow-left')}</a>`}
    <ol>
      ${[{ name: texts.files.home, at: '/' }, ...folders].map(({ name, at }) => {
        const shown = link(at === '/' ? name : shownName(name), at)
        return html`<li key=${at}>${at === path ? html`<h1>${shown}</h1>` : shown}</li>`
      })}
    </ol>
  </nav>`
}

function dropText(folder: string | null): string {
  return folder === null || folder === '/'
    ? texts.files.dropHere
    : texts.files.dropInto(shownName(nameOf(folder)))
}

function statusText(folder: Folder): string {
  const entries = folder.entries.value
  if (folder.fault.value !== '') return ''
  if (entries === null) return texts.shell.loading
  if (entries.length === 0) return texts.files.empty
  const selected = folder.selection.entries.value
  if (selected.length === 0) return texts.files.count(entries.length)
  return texts.files.selectedCount(selected.length, entries.length, sizeOfAll(selected))
}
