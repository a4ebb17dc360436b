import type { MountPage } from '@nodekeep/plugin-sdk/web-page'
import { render } from 'preact'
import { html } from '../../html.ts'
import { ConnectAppView } from './connect-app-view.ts'

/** The page that connects a file manager or an app by WebDAV. */
const mount: MountPage = (element, page) => {
  render(html`<${ConnectAppView} page=${page} />`, element)
  return () => render(null, element)
}

export default mount
