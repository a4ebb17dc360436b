import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../../html.ts'
import { isForPage } from '../../page-keys.ts'
import { Dialog } from '../../questions.ts'
import * as texts from '../../texts.ts'
import type { EntryActions } from './entry-actions.ts'

interface KeysProps {
  readonly actions: EntryActions
  readonly page: PageContext
}

/** Explains the keys of the page. The key `?` shows it. */
export function KeysDialog({ actions, page }: KeysProps): VNode | null {
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event
      if (key === '?' && !ctrlKey && !metaKey && !altKey && isForPage(event)) actions.showKeys()
    }
    addEventListener('keydown', press, { signal: page.signal })
  }, [])
  if (!actions.explainsKeys.value) return null
  const close = () => {
    actions.explainsKeys.value = false
    actions.focusRows()
  }
  return html`<${Dialog} title=${texts.keys.title} onClose=${close}>
    <dl class="keys">
      ${texts.keys.list.map(
        ([keys, does]) =>
          html`<div><dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${does}</dd></div>`,
      )}
    </dl>
    <p class="buttons"><button type="button" class="main" onClick=${close}>${texts.close}</button></p>
  <//>`
}
