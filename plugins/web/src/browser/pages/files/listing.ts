import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { accepted } from '../../refusal.ts'

/** A file or a folder, as `GET /api/files/list` tells. */
export interface Entry {
  readonly name: string
  readonly type: 'file' | 'directory'
  /** Bytes; folders have none. */
  readonly size?: number
  /** ISO 8601 */
  readonly modified: string
}

interface Listing {
  /** Folders first, each kind by name. */
  readonly entries: readonly Entry[]
  /** Bytes of the largest file that the node takes. */
  readonly maxFileSize: number
}

interface ListingPage {
  readonly entries: readonly Entry[]
  readonly cursor: string | null
  readonly maxFileSize: number
}

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

/**
 * Lists a whole folder.
 *
 * @throws Refusal
 */
export async function listFolder(page: PageContext, path: string, signal: AbortSignal): Promise<Listing> {
  const entries: Entry[] = []
  const query = new URLSearchParams({ path, limit: '10000' })
  for (;;) {
    const answer = await accepted(await page.fetch(`/api/files/list?${query}`, { signal }))
    const { entries: some, cursor, maxFileSize }: ListingPage = await answer.json()
    entries.push(...some)
    if (cursor === null) return { entries: entries.sort(inOrder), maxFileSize }
    query.set('cursor', cursor)
  }
}

function inOrder(a: Entry, b: Entry): number {
  if (a.type !== b.type) return a.type === 'directory' ? -1 : 1
  return byName.compare(a.name, b.name)
}
