import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { html } from '../html.ts'
import { request } from '../request.ts'
import { shownName } from '../shown-name.ts'
import * as texts from '../texts.ts'
import { dateText } from '../times.ts'

type Photo = NodeAnswers['GET /api/previews/photo']['photo']
type SentPicture = NonNullable<NodeAnswers['GET /api/shares/picture']['picture']>

/** A picture, with what the node knows of it; `null` if it knows nothing. */
interface FoundPicture extends SentPicture {
  readonly photo: Photo
}

interface PictureDataProps {
  /** The path of what is shared; `null` if it is gone. */
  readonly path: string | null
  /** Whether pictures are sent without their data. */
  readonly cleans: boolean
  readonly page: PageContext
}

const words = texts.links.pictures

/**
 * The data that a picture has, and those that guests get, as terms and descriptions: of the picture that is shared, or of the first one in the
 * folder. Where there is none, they are about pictures in general.
 */
export function PictureData({ path, cleans, page }: PictureDataProps): VNode {
  const found = useSignal<FoundPicture | null>(null)
  useLayoutEffect(() => {
    if (path === null) return undefined
    const left = new AbortController()
    pictureAt(page, path, left.signal).then(
      (picture) => {
        found.value = picture
      },
      // The words about pictures in general hold.
      () => {},
    )
    return () => left.abort()
  }, [path])
  const picture = found.value
  const name = picture === null ? '' : shownName(picture.path.slice(picture.path.lastIndexOf('/') + 1))
  const isKnown = picture !== null && picture.photo !== null
  const refused = picture?.refused ?? null
  const sent = refused === null ? words.afterText : words.refused[refused](name)
  return html`
    <dt>${isKnown ? words.beforeOf(name) : words.before}</dt>
    <dd>${isKnown ? dataOf(picture.photo) : words.beforeText}</dd>
    <dt>${words.after}</dt>
    <dd><span role="status">${cleans ? sent : words.keptText}</span></dd>
  `
}

function dataOf(photo: NonNullable<Photo>): string {
  const { place, camera, taken } = photo
  const data = [
    ...(place === null ? [] : [words.place(texts.photos.place(place.latitude, place.longitude))]),
    ...(camera === null ? [] : [words.camera(shownName(camera))]),
    ...(taken === null ? [] : [words.taken(dateText(taken))]),
  ]
  return data.length === 0 ? words.noData : data.join(', ')
}

async function pictureAt(page: PageContext, path: string, signal: AbortSignal): Promise<FoundPicture | null> {
  const { picture } = await request(page, 'GET /api/shares/picture', { query: { path }, signal })
  if (picture === null) return null
  const query = { path: picture.path }
  const { photo } = await request(page, 'GET /api/previews/photo', { query, signal }).catch(() => {
    // The node has no plugin for previews, which knows it.
    return { photo: null }
  })
  return { ...picture, photo }
}
