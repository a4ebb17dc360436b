import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import { chosenFiles, droppedFiles } from './dropped-files.ts'
import type { EntryActions } from './entry-actions.ts'
import { EntryGrid } from './entry-grid.ts'
import type { Folder } from './folder.ts'
import { FolderUsage } from './folder-usage.ts'
import type { Entry } from './listing.ts'
import { folderAddress } from './paths.ts'
import type { Previews } from './previews.ts'
import type { PublishedEntries } from './published-entries.ts'
import { RecentChanges } from './recent-changes.ts'
import type { Search } from './search.ts'
import { SearchResults } from './search-results.ts'
import type { StoredCheck } from './stored-check.ts'
import { TaskList } from './task-list.ts'
import type { Tasks } from './tasks.ts'
import { UndoLine } from './undo-line.ts'

interface FolderViewProps {
  readonly folder: Folder
  readonly tasks: Tasks
  readonly actions: EntryActions
  readonly published: PublishedEntries
  readonly search: Search
  readonly previews: Previews
  readonly check: StoredCheck
  readonly page: PageContext
}

/** The folder that is shown: where it is, what can be done, and its entries. */
export function FolderView(props: FolderViewProps): VNode {
  const { folder, search, tasks, actions, published, previews, check, page } = props
  const isOver = useSignal(false)
  useEffect(() => {
    // A file that is dropped beside the list would replace the page.
    const drag = (event: DragEvent) => {
      const transfer = event.dataTransfer
      if (!transfer?.types.includes('Files')) return
      event.preventDefault()
      isOver.value = event.type === 'dragover'
      if (event.type !== 'drop') return
      const isCheck = check.isOpen.value
      void droppedFiles(transfer).then((files) => (isCheck ? check.start(files) : actions.upload(files)))
    }
    for (const type of ['dragover', 'dragleave', 'drop'] as const)
      addEventListener(type, drag, { signal: page.signal })
  }, [])
  useEffect(() => {
    if (folder.entries.value !== null) published.folderListed(folder.path.value)
  }, [folder.entries.value])
  const closeSearch = () => {
    search.close()
    actions.focusRows()
  }
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !search.isOpen.value) return
      if (document.querySelector('dialog[open], :popover-open') !== null) return
      event.preventDefault()
      closeSearch()
    }
    addEventListener('keydown', press, { signal: page.signal })
  }, [])
  return html`<section class="files">
    <div class="top">
      <h1 class="path">${crumbs(folder.path.value)}</h1>
    </div>
    ${
      search.isOpen.value
        ? html`<${SearchResults} ...${{ search, folder, actions, previews }} onClose=${closeSearch} />`
        : html`<${Tools} folder=${folder} actions=${actions} check=${check} canPublish=${published.canPublish.value} />
          <p class="fault" role="alert">${folder.fault.value}</p>
          <${EntryGrid} ...${{ folder, actions, published, previews }} />
          <p class="hint" role="status">${statusText(folder)}</p>`
    }
    <${UndoLine} change=${tasks.lastChange} onUndo=${() => actions.undo()} />
    ${
      !search.isOpen.value &&
      html`<${FolderUsage} folder=${folder} page=${page} />
        <${RecentChanges} folder=${folder} page=${page} />`
    }
    <${TaskList} tasks=${tasks} />
    ${isOver.value && html`<p class="drop">${texts.files.dropHere}</p>`}
  </section>`
}

interface ToolsProps extends Pick<FolderViewProps, 'folder' | 'actions' | 'check'> {
  readonly canPublish: boolean
}

function Tools({ folder, actions, check, canPublish }: ToolsProps): VNode {
  const files = useRef<HTMLInputElement>(null)
  const folders = useRef<HTMLInputElement>(null)
  const car = useRef<HTMLInputElement>(null)
  const choose = ({ currentTarget }: Event) => {
    const field = currentTarget as HTMLInputElement
    actions.upload(chosenFiles(field.files ?? []))
    field.value = ''
  }
  const chooseCar = ({ currentTarget }: Event) => {
    const field = currentTarget as HTMLInputElement
    const [file] = field.files ?? []
    if (file !== undefined) actions.importCar(file)
    field.value = ''
  }
  const selected = folder.selection.entries.value
  const [first] = selected
  return html`<div class="tools">
    <button type="button" class="main" onClick=${() => files.current?.click()}>${texts.files.upload}</button>
    <input type="file" multiple hidden ref=${files} onChange=${choose} aria-label=${texts.files.upload} />
    <button type="button" onClick=${() => folders.current?.click()}>${texts.files.uploadFolder}</button>
    <input type="file" webkitdirectory hidden ref=${folders} onChange=${choose} aria-label=${texts.files.uploadFolder} />
    <button type="button" onClick=${() => actions.makeFolder()}>${texts.files.newFolder}</button>
    <button type="button" onClick=${() => check.open()}>${texts.check.title}</button>
    ${
      canPublish &&
      html`<button type="button" title=${texts.files.importCar} onClick=${() => car.current?.click()}>${texts.files.import}</button>
        <input type="file" accept=".car" hidden ref=${car} onChange=${chooseCar} aria-label=${texts.files.importCar} />`
    }
    ${first !== undefined && html`<${SelectionTools} selected=${selected} actions=${actions} canPublish=${canPublish} />`}
  </div>`
}

interface SelectionToolsProps extends Pick<ToolsProps, 'actions' | 'canPublish'> {
  readonly selected: readonly [Entry, ...Entry[]]
}

/** The actions on the selected entries. */
function SelectionTools({ selected, actions, canPublish }: SelectionToolsProps): VNode {
  const [first] = selected
  const isOne = selected.length === 1
  const button = (text: string, isOn: boolean, act: () => void) =>
    html`<button type="button" disabled=${!isOn} onClick=${act}>${text}</button>`
  return html`<span class="selected" role="group" aria-label=${texts.files.selection}>
    ${button(texts.files.download, true, () => actions.download(selected))}
    ${button(texts.files.rename, isOne, () => actions.rename(first))}
    ${button(texts.files.move, true, () => actions.move(selected))}
    ${button(texts.files.copy, true, () => actions.copy(selected))}
    ${button(texts.versions.title, isOne && first.type === 'file', () => actions.showVersions(first))}
    ${canPublish && button(texts.publishing.publish, isOne, () => actions.publish(first))}
    ${button(texts.files.delete, true, () => actions.delete(selected))}
  </span>`
}

/** The names of the path, each with a link to its folder. */
function crumbs(path: string): VNode[] {
  const names = path.split('/').filter(Boolean)
  const links = names.map((name, i) => ({ name, path: `/${names.slice(0, i + 1).join('/')}` }))
  return [{ name: texts.files.home, path: '/' }, ...links].map(
    ({ name, path }, i) =>
      html`${i > 0 && html`<span aria-hidden="true"> / </span>`}<a href=${folderAddress(path)} aria-current=${i === links.length && 'page'}><bdi>${shownName(name)}</bdi></a>`,
  )
}

function statusText(folder: Folder): string {
  const entries = folder.entries.value
  if (folder.fault.value !== '') return ''
  if (entries === null) return texts.shell.loading
  if (entries.length === 0) return texts.files.empty
  const selected = folder.selection.entries.value
  if (selected.length === 0) return texts.files.count(entries.length)
  const bytes = selected.reduce((sum, { size = 0 }) => sum + size, 0)
  return texts.files.selectedCount(selected.length, entries.length, bytesText(bytes))
}
