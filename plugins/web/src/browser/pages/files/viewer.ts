import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { Signal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { Dialog } from '../../questions.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import { ContentView } from './content-view.ts'
import { contentAddress, nameOf } from './paths.ts'
import type { Previews } from './previews.ts'

interface ViewerProps {
  /** The path of the file that is shown; `null` while none is. */
  readonly viewed: Signal<string | null>
  /** Shows the file before or after it, if there is one. */
  readonly onStep: (by: 1 | -1) => void
  readonly onDownload: (path: string) => void
  /** Called after it was closed. */
  readonly onClosed?: () => void
  readonly previews: Previews
  readonly page: PageContext
  /** Facts about the file. */
  readonly children?: ComponentChildren
}

/** Shows the content of a file, over the page. */
export function Viewer(props: ViewerProps): VNode | null {
  const { viewed, onStep, onDownload, onClosed, previews, page, children } = props
  const path = viewed.value
  const isOpen = path !== null
  const isClosing = useRef(false)
  useEffect(() => {
    if (!isOpen) return
    const close = () => {
      isClosing.current = false
      viewed.value = null
      onClosed?.()
    }
    // "Back" of a browser or a phone closes the file, and the page stays.
    history.pushState(null, '')
    addEventListener('popstate', close)
    return () => removeEventListener('popstate', close)
  }, [isOpen])
  if (path === null) return null
  const close = () => {
    // The browser goes back later, and only once.
    if (!isClosing.current) history.back()
    isClosing.current = true
  }
  const key = (event: KeyboardEvent) => {
    // The arrows of a player or of a text belong to it.
    if ((event.target as Element).matches('audio, video, pre, iframe')) return
    if (event.key === 'ArrowLeft') onStep(-1)
    else if (event.key === 'ArrowRight') onStep(1)
  }
  const name = shownName(nameOf(path))
  return html`<${Dialog} title=${name} onClose=${close}>
    <div class="viewer" onKeyDown=${key}>
      <div class="content">
        <${ContentView} key=${path} address=${contentAddress(path)} preview=${previews.ofPicture(path)} page=${page} name=${name} />
      </div>
      ${children}
      <p class="buttons">
        <button type="button" onClick=${() => onStep(-1)}>${texts.files.previous}</button>
        <button type="button" onClick=${() => onStep(1)}>${texts.files.next}</button>
        <button type="button" onClick=${() => onDownload(path)}>${texts.files.download}</button>
        <button type="button" class="main" onClick=${close}>${texts.close}</button>
      </p>
    </div>
  <//>`
}
