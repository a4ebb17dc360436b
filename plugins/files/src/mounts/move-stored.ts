import { NodekeepError, type StorageBackend, type StorageEntry } from '@nodekeep/plugin-sdk'

/** An entry as far as the caller knows it. */
export type StoredEntry = Pick<StorageEntry, 'type'> & Partial<StorageEntry>

/**
 * Moves an entry within a backend to a path where nothing is, without its bytes passing through the node. A storage that has no step for
 * it copies the file and then removes it: if the second step fails, it is at both paths, and if the file was changed meanwhile, too.
 */
export async function moveStored(
  backend: StorageBackend,
  from: string,
  to: string,
  entry: StoredEntry,
): Promise<void> {
  const { move, copy } = backend
  const known = { destination: null, ...(isWhole(entry) && { source: entry }) }
  if (move !== undefined) return move.call(backend, from, to, { known })
  if (copy === undefined) throw new NodekeepError('CONFLICT', 'The storage moves no files.')
  const { revision, modified } = entry
  await copy.call(backend, from, to, {
    known,
    ...(revision !== undefined && { ifSourceRevision: revision }),
    ...(modified !== undefined && { modified }),
  })
  await backend.remove(from, revision === undefined ? {} : { ifRevision: revision })
}

function isWhole(entry: StoredEntry): entry is StorageEntry {
  return 'name' in entry
}
