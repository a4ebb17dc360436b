import type { MountPage } from '@nodekeep/plugin-sdk/web-page'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { Folder } from './folder.ts'
import { FolderView } from './folder-view.ts'
import { Uploads } from './uploads.ts'

/** Uploads go on while another page is shown. */
let uploads: Uploads | null = null

/** The page of files. */
const mount: MountPage = (element, page) => {
  if (uploads?.userUuid !== page.user.uuid) {
    uploads?.cancelAll()
    uploads = new Uploads(page)
  }
  const folder = new Folder(page)
  uploads.onStored = (path) => folder.refreshIfHolds(path)
  page.onPlace((place) => folder.open(place))
  folder.open(page.place)
  render(html`<${FolderView} folder=${folder} uploads=${uploads} page=${page} /><${Questions} />`, element)
  return () => render(null, element)
}

export default mount
