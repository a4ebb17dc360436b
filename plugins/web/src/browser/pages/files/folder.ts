import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { accepted } from '../../refusal.ts'
import { folderOf, pathIn } from './paths.ts'

/** A file or a folder, as `GET /api/files/list` tells. */
export interface Entry {
  readonly name: string
  readonly type: 'file' | 'directory'
  /** Bytes; folders have none. */
  readonly size?: number
  /** ISO 8601 */
  readonly modified: string
}

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

/** The folder that is shown, with its entries: folders first, each kind by name. */
export class Folder {
  readonly path = signal('/')
  /** `null` until the node has answered. */
  readonly entries = signal<readonly Entry[] | null>(null)
  /** The reason why the entries cannot be shown; empty if nothing is wrong. */
  readonly fault = signal('')
  readonly #page: PageContext
  /** Ends the listing that runs. */
  #listing = new AbortController()

  constructor(page: PageContext) {
    this.#page = page
    page.signal.addEventListener('abort', () => this.#listing.abort())
  }

  open(path: string): void {
    this.path.value = path
    this.entries.value = null
    void this.refresh()
  }

  /** Lists the folder again, and keeps what is shown until the answer is complete. */
  async refresh(): Promise<void> {
    this.#listing.abort()
    const listing = new AbortController()
    this.#listing = listing
    try {
      const entries = await this.#list(listing.signal)
      if (listing.signal.aborted) return
      this.fault.value = ''
      this.entries.value = entries
    } catch (error) {
      if (!listing.signal.aborted) this.fault.value = (error as Error).message
    }
  }

  refreshIfHolds(path: string): void {
    if (folderOf(path) === this.path.value && !this.#page.signal.aborted) void this.refresh()
  }

  async makeFolder(name: string): Promise<void> {
    await this.#change('/mkdir', { path: pathIn(this.path.value, name) })
  }

  /** @throws Refusal with the status 409 if something has the new name */
  async rename({ name }: Entry, newName: string): Promise<void> {
    const [source, destination] = [name, newName].map((of) => pathIn(this.path.value, of))
    await this.#change('/move', { source, destination })
  }

  async delete({ name }: Entry): Promise<void> {
    await this.#change('/delete', { path: pathIn(this.path.value, name) })
  }

  async #change(route: string, body: object): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    await accepted(await this.#page.fetch(route, { method: 'POST', headers, body: JSON.stringify(body) }))
    await this.refresh()
  }

  async #list(signal: AbortSignal): Promise<Entry[]> {
    const entries: Entry[] = []
    const query = new URLSearchParams({ path: this.path.value, limit: '10000' })
    for (let cursor: string | null = ''; cursor !== null; ) {
      if (cursor !== '') query.set('cursor', cursor)
      const answer: Response = await this.#page.fetch(`/api/files/list?${query}`, { signal })
      const list: { entries: Entry[]; cursor: string | null } = await (await accepted(answer)).json()
      entries.push(...list.entries)
      cursor = list.cursor
    }
    return entries.sort((a, b) =>
      a.type === b.type ? byName.compare(a.name, b.name) : a.type === 'directory' ? -1 : 1,
    )
  }
}
