import type { MountPage } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { render } from 'preact'
import { html } from '../../html.ts'
import { Questions } from '../../questions.ts'
import { reasonOf } from '../../request.ts'
import { NodeView } from './node-view.ts'
import { ShownParts } from './shown-parts.ts'

/** The page about the node. */
const mount: MountPage = (element, page) => {
  const parts = new ShownParts(page)
  const place = signal(page.place)
  page.onPlace((at) => {
    place.value = at
  })
  parts.find().catch((error: unknown) => page.notice(reasonOf(error), 'error'))
  render(html`<${NodeView} page=${page} parts=${parts} place=${place} /><${Questions} />`, element)
  return () => render(null, element)
}

export default mount
