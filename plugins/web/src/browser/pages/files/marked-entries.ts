import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import type { IconName } from '../../icon.ts'
import { request } from '../../request.ts'
import * as texts from '../../texts.ts'
import { folderOf } from './paths.ts'

/** The entries that others reach by an address. */
export interface EntryMarks {
  /** Those that are published and have not changed since. */
  readonly published: MarkedEntries
  /** Those that have a link that works. */
  readonly linked: MarkedEntries
}

/** A mark beside the name of an entry: its icon, its meaning, and that in a few words. */
interface MarkKind {
  readonly of: keyof EntryMarks
  readonly icon: IconName
  readonly text: string
  readonly short: string
}

/** The marks, in the order in which they are shown. */
export const markKinds: readonly MarkKind[] = [
  { of: 'linked', icon: 'share-2', text: texts.links.mark, short: texts.links.shortMark },
  { of: 'published', icon: 'globe', text: texts.publishing.mark, short: texts.publishing.shortMark },
]

/** Entries with a mark beside their names. */
export class MarkedEntries {
  /** Whether the node can give entries this mark. */
  readonly isOffered = signal(false)
  readonly paths = signal<ReadonlySet<string>>(new Set())
  readonly #ask: () => Promise<readonly string[]>

  /** @param ask resolves to the paths of the entries */
  constructor(ask: () => Promise<readonly string[]>) {
    this.#ask = ask
  }

  /** Asks the node. If it refuses, what was known stays. */
  async refresh(): Promise<void> {
    try {
      this.paths.value = new Set(await this.#ask())
      this.isOffered.value = true
    } catch {
      // The plugin is not there, or a person who uses it is told why it fails.
    }
  }

  /** Asks the node again after a folder was listed, if it has such entries: they may have changed. */
  folderListed(folder: string): void {
    if ([...this.paths.peek()].some((path) => folderOf(path) === folder)) void this.refresh()
  }
}

/** Makes both kinds of marks. Nothing has one until `refresh`. */
export function entryMarks(page: PageContext): EntryMarks {
  const { signal } = page
  return {
    published: new MarkedEntries(async () => {
      const { publications } = await request(page, 'GET /api/ipfs/publications', { signal })
      return publications.filter(({ state }) => state === 'published').map(({ path }) => path)
    }),
    linked: new MarkedEntries(async () => {
      const { shares } = await request(page, 'GET /api/shares', { signal })
      return shares.flatMap(({ state, path }) => (state === 'open' && path !== null ? [path] : []))
    }),
  }
}
