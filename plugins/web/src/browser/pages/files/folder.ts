import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { batch, signal } from '@preact/signals'
import { accepted } from '../../refusal.ts'
import { type Change, ChangesFeed } from './changes-feed.ts'
import { undoHeader } from './last-change.ts'
import { type Entry, type Keeps, listFolder } from './listing.ts'
import { folderOf, pathIn } from './paths.ts'
import { Selection } from './selection.ts'

/** Milliseconds between a change and the next listing, at least. */
const shortestPauseMs = 100

const keepsNothing: Keeps = { trash: false, versions: false }

/** The folder that is shown, with its entries. It follows the changes of others. */
export class Folder {
  readonly path = signal('/')
  /** Folders first, each kind by name. `null` until the node has answered. */
  readonly entries = signal<readonly Entry[] | null>(null)
  readonly selection = new Selection(this.entries)
  /** The reason why the entries cannot be shown; empty if nothing is wrong. */
  readonly fault = signal('')
  /** Bytes of the largest file that the node takes; unlimited until the node has told. */
  maxFileSize = Number.POSITIVE_INFINITY
  /** Whether the node keeps entries that are deleted or replaced here. Nothing until the node has told. */
  readonly keeps = signal<Keeps>(keepsNothing)
  /** Rises when files have changed anywhere. */
  readonly changes = signal(0)
  readonly #page: PageContext
  readonly #feed: ChangesFeed
  /** Ends the listing that runs. */
  #listing = new AbortController()
  /** The listing that began last. */
  #latest: Promise<void> = Promise.resolve()
  /** Set while a listing is to come. */
  #due: ReturnType<typeof setTimeout> | undefined
  /** Milliseconds between a change and the next listing: many changes of a large folder are shown together. */
  #pauseMs = shortestPauseMs

  constructor(page: PageContext) {
    this.#page = page
    this.#feed = new ChangesFeed(page, (changes) => {
      this.changes.value += 1
      if (changes === 'unknown' || changes.some((change) => this.#shows(change))) this.refreshSoon()
    })
    page.signal.addEventListener('abort', () => {
      this.#listing.abort()
      clearTimeout(this.#due)
    })
  }

  open(path: string): void {
    batch(() => {
      this.path.value = path
      this.entries.value = null
      this.keeps.value = keepsNothing
      this.fault.value = ''
      this.selection.reset()
    })
    void this.refresh()
  }

  /**
   * Lists the folder again, and keeps what is shown until the answer is complete. If another listing begins meanwhile, that one is
   * shown and waited for.
   */
  async refresh(): Promise<void> {
    this.#latest = this.#list()
    let awaited: Promise<void>
    do {
      awaited = this.#latest
      await awaited
    } while (awaited !== this.#latest)
  }

  async #list(): Promise<void> {
    this.#listing.abort()
    const listing = new AbortController()
    this.#listing = listing
    const start = performance.now()
    try {
      const { entries, maxFileSize, keeps } = await listFolder(this.#page, this.path.value, listing.signal)
      if (listing.signal.aborted) return
      this.#pauseMs = Math.max(shortestPauseMs, 2 * (performance.now() - start))
      this.maxFileSize = maxFileSize
      this.keeps.value = keeps
      this.#show(entries, '')
      this.#feed.follow()
    } catch (error) {
      if (!listing.signal.aborted) this.#show([], (error as Error).message)
    }
  }

  /** Lists the folder again soon. */
  refreshSoon(): void {
    if (this.#page.signal.aborted) return
    this.#due ??= setTimeout(() => {
      this.#due = undefined
      void this.refresh()
    }, this.#pauseMs)
  }

  /**
   * @returns the group that takes it back; `null` if nothing does
   * @throws Refusal; TypeError if the node does not answer
   */
  async makeFolder(name: string): Promise<string | null> {
    const undo = await this.#change('/mkdir', { path: pathIn(this.path.value, name) })
    this.selection.onlyName(name)
    return undo
  }

  /**
   * @returns the group that takes it back; `null` if nothing does
   * @throws Refusal with the status 412 if something has the new name; TypeError if the node does not answer
   */
  async rename({ name }: Entry, newName: string): Promise<string | null> {
    const [source, destination] = [name, newName].map((of) => pathIn(this.path.value, of))
    const undo = await this.#change('/move', { source, destination }, { 'if-none-match': '*' })
    this.selection.onlyName(newName)
    return undo
  }

  #show(entries: readonly Entry[], fault: string): void {
    batch(() => {
      const before = this.entries.value ?? []
      this.entries.value = entries
      this.fault.value = fault
      this.selection.keepFocus(before)
    })
  }

  #shows({ path, source }: Change): boolean {
    const shown = this.path.value
    const concerns = (at: string) =>
      folderOf(at) === shown || at === shown || shown.startsWith(`${at}/`) || this.#isInNewFolder(at)
    return concerns(path) || (source !== undefined && concerns(source))
  }

  /** A write makes the folders above it, and is one change. */
  #isInNewFolder(path: string): boolean {
    const start = pathIn(this.path.value, '')
    if (!path.startsWith(start)) return false
    const [name] = path.slice(start.length).split('/')
    return this.entries.value?.every((entry) => entry.name !== name) ?? false
  }

  async #change(
    route: string,
    body: object,
    conditions: Readonly<Record<string, string>> = {},
  ): Promise<string | null> {
    const init = {
      method: 'POST',
      headers: { ...conditions, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }
    const answer = await accepted(await this.#page.fetch(route, init))
    await this.refresh()
    return answer.headers.get(undoHeader)
  }
}
