import type { IndexedEntry } from '@nodekeep/plugin-sdk'
import type { LearnedEntry } from '../database/user-index.ts'

/** An entry of the index of files, as far as the search needs it. */
export function learnedEntry({
  id,
  name,
  type,
  size,
  revision,
  modified,
  sha256,
}: IndexedEntry): LearnedEntry {
  return { id, name, type, size, revision, modified: modified?.getTime() ?? null, sha256 }
}
