import type { MountPage, PageContext } from '@nodekeep/plugin-sdk/web-page'
import { effect } from '@preact/signals'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { ShareDialog } from '../../sharing/share-dialog.ts'
import { shownName } from '../../shown-name.ts'
import { removeArchiveFrame } from '../files/archive-download.ts'
import { ConflictDialog } from '../files/conflict-dialog.ts'
import { entryMarks } from '../files/marked-entries.ts'
import { nameOf } from '../files/paths.ts'
import { Previews } from '../files/previews.ts'
import { Tasks } from '../files/tasks.ts'
import { ViewedFile } from '../files/viewed-file.ts'
import { Photos } from './photos.ts'
import { PhotosView } from './photos-view.ts'

/** Uploads and deletions go on while another page is shown. */
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

/** The page of all pictures, by date. */
const mount: MountPage = (element, page) => {
  tasks ??= startTasks(page)
  const photos = new Photos(page)
  const previews = new Previews(page)
  const viewed = new ViewedFile(page, 'photos')
  page.onPlace((_place, query) => void viewed.follow(query.file ?? null))
  tasks.onDone = () => photos.refreshSoon()
  tasks.lastChange.onTakenBack = () => photos.bringBack()
  const { linked } = entryMarks(page)
  void photos.refresh()
  void linked.refresh()
  void previews.find()
  const stop = effect(() => {
    const path = viewed.path.value
    page.setTitle(path === null ? null : shownName(nameOf(path)))
  })
  const parts = { page, photos, previews, linked, viewed, tasks }
  render(
    html`<${PhotosView} ...${parts} /><${ShareDialog} page=${page} /><${ConflictDialog} ...${parts} /><${Questions} />`,
    element,
  )
  return () => {
    stop()
    render(null, element)
  }
}

export default mount
