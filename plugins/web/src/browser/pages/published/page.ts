import type { MountPage } from '@nodekeep/plugin-sdk/web-page'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { PublishedView } from './published-view.ts'

/** The page of what the person has published. */
const mount: MountPage = (element, page) => {
  render(html`<${PublishedView} page=${page} /><${Questions} />`, element)
  return () => render(null, element)
}

export default mount
