import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { batch, signal } from '@preact/signals'
import { reasonOf, request } from '../../request.ts'
import { ChangesFeed } from '../files/changes-feed.ts'

/** A picture among the files of the person. */
export type Photo = NodeAnswers['GET /api/previews/photos']['photos'][number]
/** A month, such as `2026-05`, and how many photos it has. */
export type Month = NodeAnswers['GET /api/previews/photos/months']['months'][number]

/** Photos that the node sends at once. */
const pageSize = 500

/** Milliseconds after which the node is asked again while it has not read all pictures. */
const readingMs = 3000

/** Milliseconds between a change of the files and the next question. */
const pauseMs = 500

/** A node that makes many previews reads a photo late. */
const mostLooks = 20

/** The pictures of all folders by month, the newest first. A month is loaded when somebody looks at it. */
export class Photos {
  /** `null` until the node has answered. */
  readonly months = signal<readonly Month[] | null>(null)
  /** The photos that were loaded, by their months. */
  readonly loaded = signal<ReadonlyMap<string, readonly Photo[]>>(new Map())
  /** Whether the node has read all pictures. */
  readonly isComplete = signal(true)
  /** The reason why there are no photos; empty if nothing is wrong. */
  readonly fault = signal('')
  readonly #page: PageContext
  readonly #feed: ChangesFeed
  /** The months that load now, or were loaded since the last question, with the ends of their loading. */
  #asked = new Map<string, Promise<void>>()
  /** The photos that were forgotten last, by their paths, with their months. */
  #forgotten: ReadonlyMap<string, string> = new Map()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(page: PageContext) {
    this.#page = page
    let isFirst = true
    this.#feed = new ChangesFeed(page, () => {
      if (!isFirst) this.refreshSoon()
      isFirst = false
    })
    page.signal.addEventListener('abort', () => clearTimeout(this.#timer))
  }

  /** Asks for the months, and again while the node reads pictures. */
  async refresh(): Promise<void> {
    const { signal } = this.#page
    clearTimeout(this.#timer)
    try {
      const { months, isComplete } = await request(this.#page, 'GET /api/previews/photos/months', { signal })
      this.#asked = new Map()
      batch(() => {
        this.months.value = months
        this.isComplete.value = isComplete
        this.fault.value = ''
      })
      this.#feed.follow()
      if (!isComplete) this.refreshSoon(readingMs)
    } catch (error) {
      if (!signal.aborted) this.fault.value = reasonOf(error)
    }
  }

  refreshSoon(afterMs = pauseMs): void {
    if (this.#page.signal.aborted) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.refresh(), afterMs)
  }

  /** Loads the photos of a month, unless they are loaded. Resolves when they are shown, or cannot be loaded. */
  want(month: string): Promise<void> {
    const running = this.#asked.get(month) ?? this.#load(month)
    this.#asked.set(month, running)
    return running
  }

  /** Forgets photos that were deleted, before the node tells it. */
  forget(paths: ReadonlySet<string>): void {
    const loaded = new Map(this.loaded.value)
    const counts = new Map(this.months.value?.map(({ month, photos }) => [month, photos]))
    const forgotten = new Map<string, string>()
    for (const [month, photos] of loaded) {
      const left = photos.filter(({ path }) => !paths.has(path))
      for (const { path } of photos) if (paths.has(path)) forgotten.set(path, month)
      loaded.set(month, left)
      counts.set(month, (counts.get(month) ?? 0) - photos.length + left.length)
    }
    this.#forgotten = forgotten
    batch(() => {
      this.loaded.value = loaded
      this.#count(counts)
    })
  }

  /** Shows the photos again that were forgotten last and are back: the node has to read them first. Resolves when that is done, or takes long. */
  async bringBack(): Promise<void> {
    const forgotten = this.#forgotten
    this.#forgotten = new Map()
    const months = new Set(forgotten.values())
    const isShown = ([path, month]: readonly [string, string]) =>
      this.get(path) !== undefined && this.months.value?.some((one) => one.month === month)
    for (let looks = 0; looks < mostLooks; looks += 1) {
      await this.refresh()
      await Promise.all([...months].map((month) => this.want(month)))
      const isOver = this.isComplete.value || this.fault.value !== '' || this.#page.signal.aborted
      if (isOver || [...forgotten].every(isShown)) return
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  /** All photos that were loaded, the newest first. */
  get all(): Photo[] {
    return [...this.loaded.value].sort(([a], [b]) => b.localeCompare(a)).flatMap(([, photos]) => photos)
  }

  /** Returns a photo, if it was loaded. */
  get(path: string): Photo | undefined {
    for (const photos of this.loaded.value.values()) {
      const photo = photos.find((one) => one.path === path)
      if (photo !== undefined) return photo
    }
    return undefined
  }

  /**
   * Returns the path before or after a photo, also across months; `null` if there is none, or none that was loaded: then it is loaded.
   */
  beside(path: string, by: 1 | -1): string | null {
    const photo = this.get(path)
    if (photo === undefined) return null
    const month = monthOf(photo)
    const photos = this.loaded.value.get(month) ?? []
    const there = photos[photos.indexOf(photo) + by]
    if (there !== undefined) return there.path
    const months = this.months.value ?? []
    const other = months[months.findIndex((one) => one.month === month) + by]
    if (other === undefined) return null
    void this.want(other.month)
    return this.loaded.value.get(other.month)?.at(by === 1 ? 0 : -1)?.path ?? null
  }

  async #load(month: string): Promise<void> {
    const { signal } = this.#page
    const asked = this.#asked
    const found: Photo[] = []
    try {
      for (let after: string | null = ''; after !== null; ) {
        const query = { ...rangeOf(month), limit: String(pageSize), ...(after !== '' && { after }) }
        const page: NodeAnswers['GET /api/previews/photos'] = await request(
          this.#page,
          'GET /api/previews/photos',
          { query, signal },
        )
        found.push(...page.photos)
        after = page.next
        // The photos on the screen stay there until all of them have come again.
        const before = this.loaded.value.get(month)?.length ?? 0
        if (after === null || found.length > before) this.#show(month, found)
        if (after === null) this.#count(new Map([[month, found.length]]))
      }
    } catch (error) {
      asked.delete(month)
      if (!signal.aborted) this.fault.value = reasonOf(error)
    }
  }

  /** Takes over how many photos months have. One that has none goes away. */
  #count(counts: ReadonlyMap<string, number>): void {
    const { value: months } = this.months
    if (months === null || months.every(({ month, photos }) => (counts.get(month) ?? photos) === photos))
      return
    this.months.value = months
      .map((one) => ({ ...one, photos: counts.get(one.month) ?? one.photos }))
      .filter(({ photos }) => photos > 0)
  }

  #show(month: string, photos: readonly Photo[]): void {
    this.loaded.value = new Map([...this.loaded.value, [month, [...photos]]])
  }
}

/** Returns the month of a photo. A time of a camera has no zone, and all others are in UTC, as the node counts them. */
function monthOf({ date }: Photo): string {
  return date.slice(0, 7)
}

/** The times of a month, as the node takes them. */
function rangeOf(month: string): { readonly from: string; readonly to: string } {
  const from = new Date(`${month}-01T00:00:00Z`)
  const to = new Date(from)
  to.setUTCMonth(to.getUTCMonth() + 1)
  return { from: from.toISOString(), to: to.toISOString() }
}
