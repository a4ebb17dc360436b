import { NodekeepError, type StorageBackend, type StorageEntry } from '@nodekeep/plugin-sdk'

/**
 * Moves an entry within a backend to a path where nothing is, without its bytes passing through the node. A storage that has no step for
 * it copies the file and then removes it: if the second step fails, it is at both paths, and if the file was changed meanwhile, too.
 */
export async function moveStored(
  backend: StorageBackend,
  from: string,
  to: string,
  source: StorageEntry,
): Promise<void> {
  const { move, copy } = backend
  const known = { source, destination: null }
  if (move !== undefined) return move.call(backend, from, to, { known })
  if (copy === undefined) throw new NodekeepError('CONFLICT', 'The storage moves no files.')
  const { revision: ifSourceRevision, modified } = source
  await copy.call(backend, from, to, { ifSourceRevision, modified, known })
  await backend.remove(from, { ifRevision: ifSourceRevision, known: { source } })
}
