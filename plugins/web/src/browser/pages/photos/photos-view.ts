import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { headingId } from '../../action.ts'
import { html } from '../../html.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import { dateText } from '../../times.ts'
import { downloadFile } from '../files/file-download.ts'
import { contentAddress, folderAddress, folderOf, previewAddress } from '../files/paths.ts'
import type { Previews } from '../files/previews.ts'
import { Viewer } from '../files/viewer.ts'
import type { Photo, Photos } from './photos.ts'

const words = texts.photos

interface PhotosViewProps {
  readonly page: PageContext
  readonly photos: Photos
  readonly previews: Previews
}

/** All pictures, under their months. */
export function PhotosView({ page, photos, previews }: PhotosViewProps): VNode {
  const list = photos.list.value
  const months = useMemo(() => Map.groupBy(list ?? [], ({ date }) => monthText(date)), [list])
  const { shown } = photos
  return html`<section class="photos">
    <h1 id=${headingId} tabindex="-1">${words.title}</h1>
    <p class="hint" role="status">${statusText(photos)}</p>
    ${[...months].map(
      ([month, taken]) => html`<section key=${month} aria-label=${month}>
        <h2>${month}</h2>
        <ul>
          ${taken.map((photo) => html`<${Tile} key=${photo.path} photo=${photo} photos=${photos} />`)}
        </ul>
      </section>`,
    )}
    <p class="fault" role="alert">${photos.fault.value}</p>
    ${photos.next.value !== null && html`<${More} key=${photos.next.value} photos=${photos} />`}
    <${Viewer}
      viewed=${photos.viewed}
      onStep=${(by: 1 | -1) => photos.step(by)}
      onDownload=${(path: string) => downloadFile(page, path)}
      previews=${previews}
      page=${page}
    >${shown && html`<${Facts} photo=${shown} />`}<//>
  </section>`
}

function Tile({ photo, photos }: { photo: Photo; photos: Photos }): VNode {
  const { path, name, modified, width, height } = photo
  const isMissing = useSignal(false)
  const open = (event: MouseEvent) => {
    event.preventDefault()
    if (event.shiftKey || event.ctrlKey || event.metaKey) return
    photos.viewed.value = path
  }
  const small = previewAddress(path, 'small')
  return html`<li>
    <a href=${contentAddress(path)} title=${shownName(name)} onClick=${open}>
      ${
        isMissing.value
          ? html`<span>${shownName(name)}</span>`
          : html`<img
              key=${modified}
              src=${small}
              srcset=${`${small} 1x, ${previewAddress(path, 'medium')} 2x`}
              width=${width}
              height=${height}
              alt=${shownName(name)}
              loading="lazy"
              onError=${() => {
                isMissing.value = true
              }}
            />`
      }
    </a>
  </li>`
}

/** Loads the next page when it comes near, and when it is pressed. */
function More({ photos }: { photos: Photos }): VNode {
  const element = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    const button = element.current
    if (button === null) return
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) void photos.more()
      },
      // A margin counts at the element that scrolls only.
      { root: button.closest('main'), rootMargin: '100% 0px' },
    )
    observer.observe(button)
    return () => observer.disconnect()
  }, [])
  return html`<button type="button" ref=${element} onClick=${() => photos.more()}>${words.more}</button>`
}

function Facts({ photo }: { photo: Photo }): VNode {
  const { path, date, camera, place, width, height } = photo
  const parent = folderOf(path)
  return html`<p class="facts hint">
    <time dateTime=${date}>${dateText(date)}</time>
    ${width !== null && height !== null && html`<span>${words.pixels(width, height)}</span>`}
    ${camera !== null && html`<span><bdi>${shownName(camera)}</bdi></span>`}
    ${place !== null && html`<span>${words.place(place.latitude, place.longitude)}</span>`}
    <span>${words.folder} <a href=${folderAddress(parent)}><bdi>${parent === '/' ? texts.files.home : shownName(parent)}</bdi></a></span>
  </p>`
}

const months = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric' })

/** Writes the month of a date. Without a time zone, it is that of the camera. */
function monthText(date: string): string {
  return months.format(new Date(date))
}

function statusText({ list, fault, isComplete }: Photos): string {
  if (fault.value !== '') return ''
  if (list.value === null) return texts.shell.loading
  if (!isComplete.value) return words.reading
  return list.value.length === 0 ? words.none : ''
}
