import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { batch, signal } from '@preact/signals'
import { reasonOf, request } from '../../request.ts'

type PhotosPage = NodeAnswers['GET /api/previews/photos']
/** A picture among the files of the person. */
export type Photo = PhotosPage['photos'][number]

/** Photos of a page. */
const pageSize = 100

/** Milliseconds after which the node is asked again while it has not read all pictures. */
const readingMs = 3000

/** The pictures of all folders, newest first, in pages. */
export class Photos {
  /** The photos of the pages that were loaded; `null` until the node has answered. */
  readonly list = signal<readonly Photo[] | null>(null)
  /** For the next page; `null` after the last one. */
  readonly next = signal<string | null>(null)
  /** Whether the node has read all pictures. */
  readonly isComplete = signal(true)
  /** The reason why there are no photos; empty if nothing is wrong. */
  readonly fault = signal('')
  /** The path of the photo that is shown alone, or `null`. */
  readonly viewed = signal<string | null>(null)
  readonly #page: PageContext
  /** The page that began to load last. */
  #latest: Promise<void> = Promise.resolve()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(page: PageContext) {
    this.#page = page
    page.signal.addEventListener('abort', () => clearTimeout(this.#timer))
  }

  /** Loads the first page, and again while the node reads pictures and no other page was loaded. */
  open(): Promise<void> {
    return this.#inTurn(async () => {
      if ((this.list.value?.length ?? 0) > pageSize) return
      await this.#load(null)
      if (this.isComplete.value || this.#page.signal.aborted) return
      this.#timer = setTimeout(() => void this.open(), readingMs)
    })
  }

  /** Loads the next page. */
  more(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.next.value !== null) await this.#load(this.next.value)
    })
  }

  /** Shows the photo before or after the one that is shown. */
  async step(by: 1 | -1): Promise<void> {
    const path = this.viewed.value
    const from = this.#indexOf(path)
    if (from + by === this.list.value?.length) await this.more()
    const photo = this.list.value?.[from + by]
    if (from >= 0 && photo !== undefined && this.viewed.value === path) this.viewed.value = photo.path
  }

  /** The photo that is shown alone, if it is among those that were loaded. */
  get shown(): Photo | undefined {
    return this.list.value?.[this.#indexOf(this.viewed.value)]
  }

  #indexOf(path: string | null): number {
    return this.list.value?.findIndex((photo) => photo.path === path) ?? -1
  }

  /** Loads one page at a time, so that none is lost or loaded twice. */
  #inTurn(load: () => Promise<void>): Promise<void> {
    this.#latest = this.#latest.then(load)
    return this.#latest
  }

  async #load(after: string | null): Promise<void> {
    const query = { limit: String(pageSize), ...(after !== null && { after }) }
    const { signal } = this.#page
    try {
      const { photos, next, isComplete } = await request(this.#page, 'GET /api/previews/photos', {
        query,
        signal,
      })
      batch(() => {
        this.list.value = after === null ? photos : joined(this.list.value ?? [], photos)
        this.next.value = next
        this.isComplete.value = isComplete
        this.fault.value = ''
      })
    } catch (error) {
      if (!signal.aborted) this.fault.value = reasonOf(error)
    }
  }
}

/** Returns the photos of two pages. A photo that moved meanwhile stands once. */
function joined(before: readonly Photo[], photos: readonly Photo[]): Photo[] {
  const paths = new Set(before.map(({ path }) => path))
  return [...before, ...photos.filter(({ path }) => !paths.has(path))]
}
