import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { bytesText } from '../../bytes-text.ts'
import { html } from '../../html.ts'
import { reasonOf } from '../../request.ts'
import { texts } from '../../texts.ts'
import { mostText, textContent, type ViewedContent, viewedContent } from './viewed-content.ts'

interface ContentProps {
  /** The address of the content. */
  readonly address: string
  /** The address of a preview, which is shown in place of a picture; none if there is no preview. */
  readonly preview?: string | undefined
  readonly page: PageContext
  readonly name: string
}

/** Shows a content, if the browser can. */
export function ContentView({ address, preview, page, name }: ContentProps): VNode {
  const content = useSignal<ViewedContent | null>(null)
  const fault = useSignal('')
  const load = (loader: typeof viewedContent, signal: AbortSignal) =>
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
    void load(viewedContent, leaving.signal)
    return () => leaving.abort()
  }, [])
  // Names of some texts, such as .ts, are those of a video too.
  const failed = () => load(textContent, page.signal)
  const loaded = content.value
  if (fault.value !== '') return html`<p class="fault" role="alert">${fault.value}</p>`
  if (loaded === null) return html`<p class="hint" role="status">${texts.shell.loading}</p>`
  switch (loaded.kind) {
    case 'picture':
      return html`<${Picture} addresses=${preview === undefined ? [address] : [preview, address]} name=${name} onFailed=${failed} />`
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

interface PictureProps {
  /** The addresses of the picture, the best one first. */
  readonly addresses: readonly string[]
  readonly name: string
  /** Called when none of them can be shown. */
  readonly onFailed: () => void
}

function Picture({ addresses, name, onFailed }: PictureProps): VNode {
  const at = useSignal(0)
  const failed = () => {
    if (at.value + 1 < addresses.length) at.value += 1
    else onFailed()
  }
  return html`<img src=${addresses[at.value]} alt=${name} onError=${failed} />`
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
