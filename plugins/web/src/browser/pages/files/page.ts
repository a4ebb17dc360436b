import type { MountPage, PageContext } from '@nodekeep/plugin-sdk/web-page'
import { effect, signal } from '@preact/signals'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { ShareDialog } from '../../sharing/share-dialog.ts'
import { shownName } from '../../shown-name.ts'
import { removeArchiveFrame } from './archive-download.ts'
import { ConflictDialog } from './conflict-dialog.ts'
import { CutUploads } from './cut-uploads.ts'
import { EntryActions } from './entry-actions.ts'
import { listenForDrops } from './entry-drag.ts'
import type { FolderSize } from './entry-parts.ts'
import { Folder } from './folder.ts'
import { FolderChoice } from './folder-choice.ts'
import { FolderView } from './folder-view.ts'
import { KeysDialog } from './keys-dialog.ts'
import { ListMenu } from './list-menu.ts'
import { entryMarks } from './marked-entries.ts'
import { OpenedFile } from './opened-file.ts'
import { nameOf } from './paths.ts'
import { Previews } from './previews.ts'
import { PublishDialog } from './publish-dialog.ts'
import { ScrollSpeed } from './scroll-speed.ts'
import { Search } from './search.ts'
import { StoredCheck } from './stored-check.ts'
import { StoredCheckDialog } from './stored-check-dialog.ts'
import { Tasks } from './tasks.ts'
import { VersionsDialog } from './versions-dialog.ts'
import { ViewSettings } from './view-settings.ts'

/** Uploads and other long changes go on while another page is shown. */
let tasks: Tasks | null = null
let cuts: CutUploads | null = null

function startTasks(page: PageContext): Tasks {
  const started = new Tasks(page)
  page.signedOut.addEventListener('abort', () => {
    started.cancelAll()
    removeArchiveFrame()
    tasks = null
    cuts = null
  })
  return started
}

/** The page of files. */
const mount: MountPage = (element, page) => {
  tasks ??= startTasks(page)
  const settings = new ViewSettings(page.signal)
  const folder = new Folder(page, settings)
  const search = new Search(page, folder)
  const marks = entryMarks(page)
  const actions = new EntryActions(page, folder, tasks, marks, settings)
  tasks.onDone = () => folder.refreshSoon()
  tasks.lastChange.onTakenBack = async () => {
    if (page.signal.aborted) return
    actions.focusRows()
    await folder.refresh()
  }
  page.onPlace((place, query) => {
    if (!actions.viewed.follow(query.file ?? null)) return
    search.show(query.search ?? '')
    if (place === folder.path.value) return
    actions.versionsOf.value = null
    folder.open(place)
  })
  search.show(page.query.search ?? '')
  folder.open(page.place)
  const stop = effect(() => {
    const path = actions.viewed.path.value ?? folder.path.value
    page.setTitle(path === '/' ? null : shownName(nameOf(path)))
  })
  void marks.published.refresh()
  void marks.linked.refresh()
  void actions.uploadShared()
  const previews = new Previews(page)
  void previews.find()
  const check = new StoredCheck(page)
  cuts ??= new CutUploads(page, tasks)
  const dragged = listenForDrops(
    {
      takeFiles: (files, into) =>
        check.isOpen.value ? check.start(files) : actions.upload(files, into ?? folder.path.value),
      takeEntries: (paths, into, how) => actions.transfer(paths, into, how),
    },
    page.signal,
  )
  const folderSizes = signal<ReadonlyMap<string, FolderSize>>(new Map())
  const speed = new ScrollSpeed()
  const parts = { folder, actions, marks, previews, settings, folderSizes, dragged, speed }
  const menu = new ListMenu(folder, actions, marks)
  const others = { ...parts, tasks, search, check, page }
  render(
    html`<${FolderView} ...${{ parts, menu, tasks, search, check, cuts, page }} /><${OpenedFile} ...${others} /><${StoredCheckDialog} ...${others} /><${FolderChoice} page=${page} /><${VersionsDialog} ...${others} /><${PublishDialog} page=${page} /><${ShareDialog} page=${page} /><${KeysDialog} ...${others} /><${ConflictDialog} ...${others} /><${Questions} />`,
    element,
  )
  return () => {
    stop()
    render(null, element)
  }
}

export default mount
