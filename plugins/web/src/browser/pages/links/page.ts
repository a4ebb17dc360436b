import type { MountPage } from '@nodekeep/plugin-sdk/web-page'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { ChangeDialog } from './change-dialog.ts'
import { LinksView } from './links-view.ts'

/** The page of the links by which guests reach files of the person. */
const mount: MountPage = (element, page) => {
  render(html`<${LinksView} page=${page} /><${ChangeDialog} page=${page} /><${Questions} />`, element)
  return () => render(null, element)
}

export default mount
