import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { Signal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { headingId } from '../../action.ts'
import { html } from '../../html.ts'
import { narrow, useMedia } from '../../media.ts'
import * as texts from '../../texts.ts'
import type { ShownParts } from './shown-parts.ts'

interface NodeViewProps {
  readonly page: PageContext
  readonly parts: ShownParts
  readonly place: Signal<string>
}

/** The parts of the node, one at a time. */
export function NodeView({ page, parts, place }: NodeViewProps): VNode {
  const list = parts.list.value
  const name = place.value.split('/')[1] ?? ''
  const shown = name === '' ? list[0] : list.find((part) => part.name === name)
  const title = shown?.title ?? null
  useLayoutEffect(() => page.setTitle(title), [title])
  const tabs = useRef<HTMLElement>(null)
  const isNarrow = useMedia(narrow)
  // On a phone, they are wider than the window. Plugins add theirs late.
  useLayoutEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [title, list.length, isNarrow])
  if (shown === undefined && !parts.isComplete.value) return html`<p class="hint">${texts.shell.loading}</p>`
  const onPluginsChanged = () => {
    void parts.find()
    void page.refresh()
  }
  return html`<section class="node">
    <nav class="tabs" ref=${tabs} aria-label=${texts.node.parts}>
      ${list.map(
        (part) =>
          html`<a key=${part.name} href=${`#/node/${part.name}`} aria-current=${part === shown ? 'page' : undefined}>${part.title}</a>`,
      )}
    </nav>
    ${
      shown
        ? html`${!shown.hasHead && html`<h1 id=${headingId} tabindex="-1">${shown.title}</h1>`}
          <${shown.view} key=${shown.name} page=${page} onPluginsChanged=${onPluginsChanged} />`
        : html`<h1>${texts.node.title}</h1>
          <p>${list.length === 0 ? texts.node.noParts : texts.node.noPart}</p>`
    }
  </section>`
}
