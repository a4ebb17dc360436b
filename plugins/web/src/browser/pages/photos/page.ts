import type { MountPage } from '@nodekeep/plugin-sdk/web-page'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Previews } from '../files/previews.ts'
import { Photos } from './photos.ts'
import { PhotosView } from './photos-view.ts'

/** The page of all pictures, by date. */
const mount: MountPage = (element, page) => {
  const photos = new Photos(page)
  const previews = new Previews(page)
  void photos.open()
  // Without them, the node does not have this page.
  previews.areThere.value = true
  render(html`<${PhotosView} page=${page} photos=${photos} previews=${previews} />`, element)
  return () => render(null, element)
}

export default mount
