import type { MountPage } from '@nodekeep/plugin-sdk/web-page'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { FolderChoice } from '../files/folder-choice.ts'
import { Trash } from './trash.ts'
import { TrashView } from './trash-view.ts'

/** The page of what the person has deleted. */
const mount: MountPage = (element, page) => {
  const trash = new Trash(page)
  void trash.open()
  const parts = html`<${TrashView} page=${page} trash=${trash} /><${FolderChoice} page=${page} /><${Questions} />`
  render(parts, element)
  return () => render(null, element)
}

export default mount
