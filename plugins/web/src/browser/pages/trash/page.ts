import type { MountPage, PageContext } from '@nodekeep/plugin-sdk/web-page'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { FolderChoice } from '../files/folder-choice.ts'
import { Tasks } from '../files/tasks.ts'
import { Trash } from './trash.ts'
import { TrashActions } from './trash-actions.ts'
import { TrashView } from './trash-view.ts'

/** Restores and deletions go on while another page is shown. */
let tasks: Tasks | null = null

function startTasks(page: PageContext): Tasks {
  const started = new Tasks(page)
  page.signedOut.addEventListener('abort', () => {
    started.cancelAll()
    tasks = null
  })
  return started
}

/** The page of what the person has deleted. */
const mount: MountPage = (element, page) => {
  tasks ??= startTasks(page)
  const trash = new Trash(page)
  tasks.lastChange.onTakenBack = () => trash.open()
  void trash.open()
  const parts = { page, trash, tasks, actions: new TrashActions(page, trash, tasks) }
  render(html`<${TrashView} ...${parts} /><${FolderChoice} page=${page} /><${Questions} />`, element)
  return () => render(null, element)
}

export default mount
