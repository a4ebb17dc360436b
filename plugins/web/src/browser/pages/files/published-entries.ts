import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { request } from '../../request.ts'
import { folderOf } from './paths.ts'

/** The entries that are published and have not changed since. */
export class PublishedEntries {
  /** Whether the node can publish. */
  readonly canPublish = signal(false)
  readonly paths = signal<ReadonlySet<string>>(new Set())
  readonly #page: PageContext

  constructor(page: PageContext) {
    this.#page = page
  }

  /** Asks the node. If it refuses, what was known stays. */
  async refresh(): Promise<void> {
    const { signal } = this.#page
    try {
      const { publications } = await request(this.#page, 'GET /api/ipfs/publications', { signal })
      const unchanged = publications.filter(({ state }) => state === 'published')
      this.paths.value = new Set(unchanged.map(({ path }) => path))
      this.canPublish.value = true
    } catch {
      // The plugin is not there, or a person who publishes is told why it fails.
    }
  }

  /** Asks the node again after a folder was listed, if it has such entries: they may have changed. */
  folderListed(folder: string): void {
    if ([...this.paths.peek()].some((path) => folderOf(path) === folder)) void this.refresh()
  }
}
