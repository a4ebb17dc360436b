/** The parts of a storage backend or of its driver that tell whether it moves folders. */
interface Storage {
  readonly supports: { readonly atomicFolders?: boolean }
  readonly move?: unknown
}

/** Names what `supports` of a backend or a driver lacks, in the words of an `EntryCheck`; `null` if it is right. */
export function lackingAbility({ supports, move }: Storage): string | null {
  if (typeof supports !== 'object' || supports === null) return 'has no object "supports"'
  if (supports.atomicFolders && typeof move !== 'function')
    return 'has "supports.atomicFolders", but no method "move"'
  return null
}
