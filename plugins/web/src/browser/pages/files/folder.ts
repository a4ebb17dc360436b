import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { batch, signal, untracked } from '@preact/signals'
import { accepted, Refusal } from '../../refusal.ts'
import * as texts from '../../texts.ts'
import { type Change, ChangesFeed } from './changes-feed.ts'
import { sorted } from './entry-order.ts'
import { undoHeader } from './last-change.ts'
import { type Entry, type Keeps, listFolder } from './listing.ts'
import { folderOf, isWithin, nameOf, pathIn } from './paths.ts'
import { Selection } from './selection.ts'
import type { ViewSettings } from './view-settings.ts'

/** Milliseconds between a change and the next listing, at least. */
const shortestPauseMs = 100

const keepsNothing: Keeps = { trash: false, versions: false }

/** The folder that is shown, with its entries. It follows the changes of others. */
export class Folder {
  readonly path = signal('/')
  /** In the order that the person has chosen. `null` until the node has answered. */
  readonly entries = signal<readonly Entry[] | null>(null)
  readonly selection = new Selection<Entry>(this.entries, ({ name }) => name)
  /** The reason why the entries cannot be shown; empty if nothing is wrong. */
  readonly fault = signal('')
  /** Bytes of the largest file that the node takes; unlimited until the node has told. */
  maxFileSize = Number.POSITIVE_INFINITY
  /** Whether the node keeps entries that are deleted or replaced here. Nothing until the node has told. */
  readonly keeps = signal<Keeps>(keepsNothing)
  /** Rises when files have changed anywhere. */
  readonly changes = signal(0)
  readonly #page: PageContext
  readonly #settings: ViewSettings
  readonly #feed: ChangesFeed
  /** The entry to go to when the folder is listed, by its path, and whether it is selected then. */
  #goal: { readonly path: string; readonly isSelected: boolean } | null = null
  /** Ends the listing that runs. */
  #listing = new AbortController()
  /** The listing that began last. */
  #latest: Promise<void> = Promise.resolve()
  /** Set while a listing is to come. */
  #due: ReturnType<typeof setTimeout> | undefined
  /** Milliseconds between a change and the next listing: many changes of a large folder are shown together. */
  #pauseMs = shortestPauseMs

  constructor(page: PageContext, settings: ViewSettings) {
    this.#page = page
    this.#settings = settings
    const stopSorting = settings.order.subscribe(() => untracked(() => this.#sort()))
    this.#feed = new ChangesFeed(page, (changes) => {
      this.changes.value += 1
      if (changes === 'unknown' || changes.some((change) => this.#shows(change))) this.refreshSoon()
    })
    page.signal.addEventListener('abort', () => {
      this.#listing.abort()
      clearTimeout(this.#due)
      stopSorting()
    })
  }

  /**
   * Goes to an entry, now or as soon as its folder is listed.
   *
   * @param isSelected whether it is selected then, and nothing else
   */
  goTo(path: string, isSelected: boolean): void {
    this.#goal = { path, isSelected }
    if (this.entries.value !== null) this.#goOn()
  }

  open(path: string): void {
    const before = this.path.value
    if (this.#goal === null || folderOf(this.#goal.path) !== path) {
      // From a folder to one above it: the person goes on where they were.
      const isAbove = path !== before && isWithin(before, path)
      this.#goal = isAbove ? { path: childOn(before, path), isSelected: false } : null
    }
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
   * Makes a folder, and goes to it. What is selected stays: the folder does not join it.
   *
   * @returns the group that takes it back; `null` if nothing does
   * @throws Refusal; TypeError if the node does not answer
   */
  async makeFolder(name: string): Promise<string | null> {
    const undo = await this.#change('/mkdir', { path: pathIn(this.path.value, name) })
    this.selection.goToKey(name)
    return undo
  }

  /**
   * Makes an empty file, and goes to it.
   *
   * @returns the group that takes it back; `null` if nothing does
   * @throws Refusal with the status 412 if something has its name; TypeError if the node does not answer
   */
  async makeText(name: string): Promise<string | null> {
    const headers = { 'if-none-match': '*', 'content-type': 'text/plain' }
    const address = `/write?path=${encodeURIComponent(pathIn(this.path.value, name))}`
    const answer = await this.#page.fetch(address, { method: 'PUT', headers, body: '' })
    if (answer.status === 412) throw new Refusal(412, texts.files.state.exists)
    await accepted(answer)
    await this.refresh()
    this.selection.goToKey(name)
    return answer.headers.get(undoHeader)
  }

  /**
   * @returns the group that takes it back; `null` if nothing does
   * @throws Refusal with the status 412 if something has the new name; TypeError if the node does not answer
   */
  async rename(entry: Entry, newName: string): Promise<string | null> {
    const { name } = entry
    const isSelected = this.selection.has(entry)
    const [source, destination] = [name, newName].map((of) => pathIn(this.path.value, of))
    const undo = await this.#change('/move', { source, destination }, { 'if-none-match': '*' })
    if (isSelected) this.selection.onlyKey(newName)
    else this.selection.goToKey(newName)
    return undo
  }

  #show(entries: readonly Entry[], fault: string): void {
    batch(() => {
      const before = this.entries.value ?? []
      this.entries.value = sorted(entries, this.#settings.order.value)
      this.fault.value = fault
      this.selection.keepFocus(before)
      this.#goOn()
    })
  }

  #sort(): void {
    const before = this.entries.value
    if (before === null) return
    batch(() => {
      this.entries.value = sorted(before, this.#settings.order.value)
      this.selection.keepFocus(before)
    })
  }

  #goOn(): void {
    const goal = this.#goal
    if (goal === null || folderOf(goal.path) !== this.path.value) return
    this.#goal = null
    if (goal.isSelected) this.selection.onlyKey(nameOf(goal.path))
    else this.selection.goToKey(nameOf(goal.path))
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

/** Returns the entry of a folder that is, or holds, a path below it. */
function childOn(path: string, folder: string): string {
  const start = pathIn(folder, '')
  return start + (path.slice(start.length).split('/')[0] ?? '')
}
