import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { dateText } from '../../times.ts'
import { FileFacts } from '../files/file-facts.ts'
import type { Photo } from './photos.ts'

const words = texts.photos

interface PhotoFactsProps {
  readonly path: string
  /** Not there if its month was not loaded. */
  readonly photo: Photo | undefined
  readonly page: PageContext
}

/** Facts about a photo, and when and where it was taken. */
export function PhotoFacts({ path, photo, page }: PhotoFactsProps): VNode {
  return html`<${FileFacts} path=${path} page=${page}>
    ${photo !== undefined && html`<${Taken} ...${photo} />`}
  <//>`
}

function Taken({ taken, camera, place, width, height }: Photo): VNode {
  return html`
    ${taken !== null && html`<dt>${words.taken}</dt><dd><time dateTime=${taken}>${dateText(taken)}</time></dd>`}
    <dt>${words.size}</dt>
    <dd>${words.pixels(width, height)}</dd>
    ${camera !== null && html`<dt>${words.camera}</dt><dd><bdi>${shownName(camera)}</bdi></dd>`}
    ${place !== null && html`<dt>${words.where}</dt><dd>${words.place(place.latitude, place.longitude)}</dd>`}
  `
}
