import type { MountPage, PageContext } from '@nodekeep/plugin-sdk/web-page'
import { effect } from '@preact/signals'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { shownName } from '../../shown-name.ts'
import { removeArchiveFrame } from './archive-download.ts'
import { EntryActions } from './entry-actions.ts'
import { Folder } from './folder.ts'
import { FolderChoice } from './folder-choice.ts'
import { FolderView } from './folder-view.ts'
import { OpenedFile } from './opened-file.ts'
import { nameOf } from './paths.ts'
import { Previews } from './previews.ts'
import { PublishDialog } from './publish-dialog.ts'
import { PublishedEntries } from './published-entries.ts'
import { Search } from './search.ts'
import { StoredCheck } from './stored-check.ts'
import { StoredCheckDialog } from './stored-check-dialog.ts'
import { Tasks } from './tasks.ts'
import { VersionsDialog } from './versions-dialog.ts'

/** Uploads and other long changes go on while another page is shown. */
let tasks: Tasks | null = null

function startTasks(page: PageContext): Tasks {
  const started = new Tasks(page)
  page.signedOut.addEventListener('abort', () => {
    started.cancelAll()
    removeArchiveFrame()
    tasks = null
  })
  return started
}

/** The page of files. */
const mount: MountPage = (element, page) => {
  tasks ??= startTasks(page)
  const folder = new Folder(page)
  const search = new Search(page, folder)
  const published = new PublishedEntries(page)
  const actions = new EntryActions(page, folder, tasks, published)
  tasks.onDone = () => folder.refreshSoon()
  page.onPlace((place, query) => {
    search.show(query.search ?? '')
    if (place === folder.path.value) return
    actions.viewed.value = null
    actions.versionsOf.value = null
    folder.open(place)
  })
  search.show(page.query.search ?? '')
  folder.open(page.place)
  const stop = effect(() => {
    const path = folder.path.value
    page.setTitle(path === '/' ? null : shownName(nameOf(path)))
  })
  void published.refresh()
  const previews = new Previews(page)
  void previews.find()
  const check = new StoredCheck(page)
  const parts = { folder, search, tasks, actions, published, previews, check, page }
  render(
    html`<${FolderView} ...${parts} /><${OpenedFile} ...${parts} /><${StoredCheckDialog} ...${parts} /><${FolderChoice} page=${page} /><${VersionsDialog} ...${parts} /><${PublishDialog} page=${page} /><${Questions} />`,
    element,
  )
  return () => {
    stop()
    render(null, element)
  }
}

export default mount
