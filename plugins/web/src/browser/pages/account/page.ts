import type { MountPage } from '@nodekeep/plugin-sdk/web-page'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { AccountView } from './account-view.ts'

/** The page of the person's own account. */
const mount: MountPage = (element, page) => {
  render(html`<${AccountView} page=${page} /><${Questions} />`, element)
  return () => render(null, element)
}

export default mount
