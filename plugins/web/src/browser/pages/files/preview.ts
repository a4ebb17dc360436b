import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { Dialog } from '../../questions.ts'
import { reasonOf } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import type { EntryActions } from './entry-actions.ts'
import type { Folder } from './folder.ts'
import { contentAddress, pathIn } from './paths.ts'
import { mostText, type PreviewContent, previewContent, textContent } from './preview-content.ts'

interface PreviewProps {
  readonly folder: Folder
  readonly actions: EntryActions
  readonly page: PageContext
}

/** Shows the content of the file that the person opened, over the page. */
export function Preview({ folder, actions, page }: PreviewProps): VNode | null {
  const name = actions.previewed.value
  const isOpen = name !== null
  const isClosing = useRef(false)
  useEffect(() => {
    if (!isOpen) return
    const close = () => {
      isClosing.current = false
      actions.previewed.value = null
      actions.focusRows()
    }
    // "Back" of a browser or a phone closes the file, and the folder stays.
    history.pushState(null, '')
    addEventListener('popstate', close)
    return () => removeEventListener('popstate', close)
  }, [isOpen])
  if (name === null) return null
  const close = () => {
    // The browser goes back later, and only once.
    if (!isClosing.current) history.back()
    isClosing.current = true
  }
  const step = (by: 1 | -1) => {
    const entries = folder.entries.value ?? []
    const from = entries.findIndex((entry) => entry.name === name)
    for (let at = from + by; from >= 0 && at >= 0 && at < entries.length; at += by) {
      const entry = entries[at]
      if (entry?.type !== 'file') continue
      actions.previewed.value = entry.name
      folder.selection.only(at)
      return
    }
  }
  const key = (event: KeyboardEvent) => {
    // The arrows of a player or of a text belong to it.
    if ((event.target as Element).matches('audio, video, pre, iframe')) return
    if (event.key === 'ArrowLeft') step(-1)
    else if (event.key === 'ArrowRight') step(1)
  }
  const path = pathIn(folder.path.value, name)
  return html`<${Dialog} key=${folder.path.value} title=${shownName(name)} onClose=${close}>
    <div class="preview" onKeyDown=${key}>
      <div class="content"><${ContentView} key=${path} address=${contentAddress(path)} page=${page} name=${shownName(name)} /></div>
      <p class="buttons">
        <button type="button" onClick=${() => step(-1)}>${texts.files.previous}</button>
        <button type="button" onClick=${() => step(1)}>${texts.files.next}</button>
        <button type="button" onClick=${() => actions.download([{ name, type: 'file' }])}>${texts.files.download}</button>
        <button type="button" class="main" onClick=${close}>${texts.close}</button>
      </p>
    </div>
  <//>`
}

interface ContentProps {
  /** The address of the content. */
  readonly address: string
  readonly page: PageContext
  readonly name: string
}

/** Shows a content, if the browser can. */
export function ContentView({ address, page, name }: ContentProps): VNode {
  const content = useSignal<PreviewContent | null>(null)
  const fault = useSignal('')
  const load = (loader: typeof previewContent, signal: AbortSignal) =>
    loader(page, address, signal)
      .then((loaded) => {
        if (!signal.aborted) content.value = loaded
      })
      .catch((error: unknown) => {
        if (signal.aborted) return
        fault.value = reasonOf(error)
      })
  useEffect(() => {
    const leaving = new AbortController()
    void load(previewContent, leaving.signal)
    return () => leaving.abort()
  }, [])
  // Names of some texts, such as .ts, are those of a video too.
  const failed = () => load(textContent, page.signal)
  const loaded = content.value
  if (fault.value !== '') return html`<p class="fault" role="alert">${fault.value}</p>`
  if (loaded === null) return html`<p class="hint" role="status">${texts.shell.loading}</p>`
  switch (loaded.kind) {
    case 'picture':
      return html`<img src=${address} alt=${name} onError=${failed} />`
    case 'sound':
      return html`<audio src=${address} controls aria-label=${name} onError=${failed}></audio>`
    case 'video':
      return html`<video src=${address} controls aria-label=${name} onError=${failed}></video>`
    case 'document':
      return html`<${DocumentView} document=${loaded.document} name=${name} />`
    case 'text':
      return html`
        <pre tabindex="0" dir="auto" aria-label=${name}>${loaded.text}</pre>
        <p class="hint">${loaded.text === '' ? texts.files.emptyFile : loaded.isCut && texts.files.cut(bytesText(mostText))}</p>
      `
    case 'none':
      return html`<p>${texts.files.noPreview}</p>`
  }
}

/** Shows a document with the viewer of the browser. */
function DocumentView({ document, name }: { document: Blob; name: string }): VNode {
  const address = useSignal('')
  useEffect(() => {
    address.value = URL.createObjectURL(document)
    return () => URL.revokeObjectURL(address.value)
  }, [])
  return html`${address.value !== '' && html`<iframe src=${address.value} title=${name}></iframe>`}`
}
