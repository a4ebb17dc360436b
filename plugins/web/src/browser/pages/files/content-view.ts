import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { reasonOf } from '../../request.ts'
import * as texts from '../../texts.ts'
import { TextView } from './text-view.ts'
import { textContent, type ViewedContent, viewedContent } from './viewed-content.ts'
import type { ViewedFile } from './viewed-file.ts'
import { type Zoom, ZoomedPicture } from './zoomed-picture.ts'

interface ContentProps {
  /** Whether it is known to be a picture. Then it needs no question, so one that was loaded before is there at once. */
  readonly isPicture?: boolean
  /** The address of the content. */
  readonly address: string
  /** The address of a preview, which is shown in place of a picture; none if there is no preview. */
  readonly preview?: string | undefined
  readonly page: PageContext
  readonly name: string
  /** Gets the way to zoom a picture. */
  readonly zoom?: { current: Zoom | null }
  /** Set for the present content of a file, which can be changed. */
  readonly file?: { readonly path: string; readonly viewed: ViewedFile }
  readonly onDownload?: () => void
}

/** Shows a content, if the browser can. */
export function ContentView(props: ContentProps): VNode {
  const { isPicture = false, address, preview, page, name, zoom, file, onDownload } = props
  const content = useSignal<ViewedContent | null>(isPicture ? { kind: 'picture' } : null)
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
  useLayoutEffect(() => {
    const leaving = new AbortController()
    if (!isPicture) void load(viewedContent, leaving.signal)
    return () => leaving.abort()
  }, [])
  // Names of some texts, such as .ts, are those of a video too.
  const failed = () => load(textContent, page.signal)
  const loaded = content.value
  if (fault.value !== '') return html`<p class="fault" role="alert">${fault.value}</p>`
  if (loaded === null) return html`<p class="hint" role="status">${texts.shell.loading}</p>`
  switch (loaded.kind) {
    case 'picture':
      return html`<${ZoomedPicture}
        addresses=${preview === undefined ? [address] : [preview, address]}
        name=${name}
        zoom=${zoom}
        onFailed=${failed}
      />`
    case 'sound':
      return html`<audio src=${address} controls aria-label=${name} onError=${failed}></audio>`
    case 'video':
      return html`<video src=${address} controls aria-label=${name} onError=${failed}></video>`
    case 'document':
      return html`<${DocumentView} document=${loaded.document} name=${name} />`
    case 'text':
      return html`<${TextView} text=${loaded} name=${name} file=${file} page=${page} />`
    case 'none':
      return html`<${NoView} path=${file?.path ?? ''} onDownload=${onDownload} />`
  }
}

/** Says what can be done with a file that browsers cannot show. */
function NoView({ path, onDownload }: { path: string; onDownload?: () => void }): VNode {
  const isModule = path.toLowerCase().endsWith('.wasm')
  return html`<div class="empty">
    ${icon('file')}
    <p>${isModule ? texts.files.isModule : /\.hei[cf]$/i.test(path) ? texts.files.noHeic : texts.files.noPreview}</p>
    <p class="choices">
      ${isModule && html`<a class="button main" href=${`#/wasm${path.split('/').map(encodeURIComponent).join('/')}`}>${texts.files.openModule}</a>`}
      ${onDownload && html`<button type="button" class=${isModule ? '' : 'main'} onClick=${onDownload}>${icon('download')}${texts.files.download}</button>`}
    </p>
  </div>`
}

/** Shows a document with the viewer of the browser. */
function DocumentView({ document, name }: { document: Blob; name: string }): VNode {
  const address = useSignal('')
  useLayoutEffect(() => {
    address.value = URL.createObjectURL(document)
    return () => URL.revokeObjectURL(address.value)
  }, [])
  return html`${address.value !== '' && html`<iframe src=${address.value} title=${name}></iframe>`}`
}
