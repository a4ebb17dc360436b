/**
 * Compares a root that comes with a release to the trusted root. Two roots are of one lineage if the root keys of one of them, as many as
 * it requires, have signed the other one. That holds for all roots between two replacements of the root keys, and over one replacement
 * for the root that made it, since former and new keys sign it.
 *
 * @returns `newer` if the root of the release is a later one of the same lineage, `same` if it is not; `other` for another lineage
 */
export async function compareRoots(pinned: Buffer, trusted: Buffer): Promise<'newer' | 'same' | 'other'> {
  const { Metadata, MetadataKind } = await import('@tufjs/models')
  const rootOf = (content: Buffer) => Metadata.fromJSON(MetadataKind.Root, JSON.parse(content.toString()))
  try {
    const [ours, theirs] = [rootOf(pinned), rootOf(trusted)]
    const signs = (root: typeof ours, other: typeof ours) => {
      try {
        root.verifyDelegate(MetadataKind.Root, other)
        return true
      } catch {
        return false
      }
    }
    if (!signs(theirs, ours) && !signs(ours, theirs)) return 'other'
    return ours.signed.version > theirs.signed.version ? 'newer' : 'same'
  } catch {
    // A damaged disk must not end updates for good.
    return 'other'
  }
}
