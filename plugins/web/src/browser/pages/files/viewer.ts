import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { type IconName, icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { ContentView } from './content-view.ts'
import { takeWindow } from './full-window.ts'
import { contentAddress, nameOf } from './paths.ts'
import type { Previews } from './previews.ts'
import { useSwipe } from './swipe.ts'
import type { ViewedFile } from './viewed-file.ts'
import type { Zoom } from './zoomed-picture.ts'

interface ViewerProps {
  readonly viewed: ViewedFile
  /** The files before and after it; `null` if there is none. */
  readonly previous: string | null
  readonly next: string | null
  readonly onDownload: (path: string) => void
  /** Deletes the file. Resolves to whether it goes away: the person may have been asked. */
  readonly onDelete: (path: string) => Promise<boolean>
  /** Offers a link to the file. */
  readonly onShare?: (path: string) => void
  /** Shows the versions of the file. */
  readonly onVersions?: (path: string) => void
  /** Called after it was closed. */
  readonly onClosed?: () => void
  readonly previews: Previews
  readonly page: PageContext
  /** Facts about the file. */
  readonly children?: ComponentChildren
}

const words = texts.files

/** Shows the content of a file in the full window. */
export function Viewer(props: ViewerProps): VNode | null {
  const path = props.viewed.path.value
  return path === null ? null : html`<${OpenViewer} ...${props} path=${path} />`
}

function OpenViewer(props: ViewerProps & { readonly path: string }): VNode {
  const { viewed, path, previous, next, previews, page, children } = props
  const element = useRef<HTMLDivElement>(null)
  const zoom = useRef<Zoom | null>(null)
  const showsFacts = useSignal(false)
  useLayoutEffect(() => {
    if (element.current === null) return
    const giveBack = takeWindow(element.current)
    return () => {
      giveBack()
      props.onClosed?.()
    }
  }, [])
  usePreloaded([next, previous], previews)
  const step = (by: 1 | -1) => void viewed.step(by === 1 ? next : previous)
  const close = () => void viewed.close()
  const remove = async () => {
    const other = next ?? previous
    if (!(await props.onDelete(path))) return
    if (other === null) await viewed.close()
    else await viewed.step(other)
    element.current?.focus()
  }
  const toggleFacts = () => {
    showsFacts.value = !showsFacts.value
  }
  const key = (event: KeyboardEvent) => {
    const target = event.target as Element
    // A dialog above has its own keys, also while nothing in it has the focus.
    if (document.querySelector('dialog[open]') !== null) return
    if (event.key === 'Escape') close()
    // The keys of a player, of a text or of a field belong to it.
    else if (isCommand(event) || target.matches('audio, video, pre, iframe, textarea, input, .scroll')) return
    else if (event.key === 'ArrowLeft') step(-1)
    else if (event.key === 'ArrowRight') step(1)
    else if (event.key === 'Delete') void remove()
    else if (event.key === 'i') toggleFacts()
    else if (event.key === '+' || event.key === '=') zoom.current?.zoomIn()
    else if (event.key === '-') zoom.current?.zoomOut()
    else if (event.key === '0') zoom.current?.reset()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  useKeys(key)
  const swipe = useSwipe({
    isOn: () => zoom.current?.isZoomed() !== true,
    onSwipe: step,
    onSwipeDown: close,
  })
  const name = shownName(nameOf(path))
  const button = (label: string, shown: IconName, run: () => void, more: object = {}) =>
    html`<button type="button" class="quiet icon-only" aria-label=${label} title=${label} onClick=${run} ...${more}>${icon(shown)}</button>`
  const stepButton = (label: string, shown: IconName, to: string | null, by: 1 | -1) =>
    button(label, shown, () => step(by), {
      class: `quiet icon-only step ${shown}`,
      'aria-disabled': to === null,
    })
  const { onShare, onVersions } = props
  return html`<div class="viewer" role="dialog" aria-modal="true" aria-label=${name} tabindex="-1" ref=${element}>
    <header>
      <h2><bdi>${name}</bdi></h2>
      ${
        previews.isPicture(path) &&
        html`<span class="zoom">
          ${button(words.zoomOut, 'zoom-out', () => zoom.current?.zoomOut())}
          ${button(words.zoomIn, 'zoom-in', () => zoom.current?.zoomIn())}
        </span>`
      }
      ${button(words.details, 'info', toggleFacts, { 'aria-pressed': showsFacts.value })}
      ${onShare && button(texts.links.share, 'share-2', () => onShare(path))}
      ${onVersions && button(texts.versions.title, 'history', () => onVersions(path))}
      ${button(words.download, 'download', () => props.onDownload(path))}
      ${button(words.delete, 'trash-2', () => void remove())}
      ${button(texts.close, 'x', close)}
    </header>
    <div class="middle">
      <div class="file-content" ...${swipe}>
        ${
          // Otherwise a picture would be loaded whole before its preview.
          previews.isPicture(path) && !previews.isKnown
            ? html`<p class="hint" role="status">${texts.shell.loading}</p>`
            : html`<${ContentView}
                key=${`${path} ${previews.isPicture(path)}`}
                isPicture=${previews.isPicture(path)}
                address=${contentAddress(path)}
                preview=${previews.ofPicture(path)}
                page=${page}
                name=${name}
                zoom=${zoom}
                file=${{ path, viewed }}
                onDownload=${() => props.onDownload(path)}
              />`
        }
      </div>
      ${stepButton(words.previous, 'chevron-left', previous, -1)}
      ${stepButton(words.next, 'chevron-right', next, 1)}
      ${showsFacts.value && html`<section class="panel" aria-label=${words.details}>${children}</section>`}
    </div>
  </div>`
}

/** Gets all keys: a part that had the focus may be gone with the file before. */
function useKeys(press: (event: KeyboardEvent) => void): void {
  const latest = useRef(press)
  latest.current = press
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => latest.current(event)
    document.addEventListener('keydown', listener)
    return () => document.removeEventListener('keydown', listener)
  }, [])
}

/** Loads the pictures that the person sees next. */
function usePreloaded(paths: readonly (string | null)[], previews: Previews): void {
  // A picture that is not kept may be loaded twice.
  const kept = useRef<readonly HTMLImageElement[]>([])
  const addresses = paths.flatMap((path) =>
    path !== null && previews.isKnown && previews.isPicture(path)
      ? [previews.ofPicture(path) ?? contentAddress(path)]
      : [],
  )
  useLayoutEffect(() => {
    kept.current = addresses.map((address) =>
      Object.assign(new Image(), { fetchPriority: 'low', src: address }),
    )
  }, [addresses.join(' ')])
}

function isCommand({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey
}
