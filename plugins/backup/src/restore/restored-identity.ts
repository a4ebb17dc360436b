import { readFile } from 'node:fs/promises'

/**
 * The identity of a node after a restore: `same`, since that of the backup is the one that it has; `another`, which it takes over from
 * the node of the backup; `new`, since the person wants that; `present`, since the backup has none.
 */
export type RestoredIdentity = 'same' | 'another' | 'new' | 'present'

/**
 * Returns the identity of a node after a restore. The keys show whether the backup comes from this node: an id of the machine would
 * be another one in each container, and the same one on a copied disk.
 *
 * @param present the file with the key of the node, which may not exist
 * @param restored the file with the key of the backup, which may not exist
 */
export async function restoredIdentity(
  present: string,
  restored: string,
  { newIdentity }: { readonly newIdentity: boolean },
): Promise<RestoredIdentity> {
  if (newIdentity) return 'new'
  const [now, then] = await Promise.all([present, restored].map((file) => readFile(file).catch(() => null)))
  if (then === null || then === undefined) return 'present'
  return now?.equals(then) ? 'same' : 'another'
}

/** Says, to people, what a node with another identity means. */
export const twoNodesWarning =
  'The node that had this identity must not run any more: two nodes must not have one identity. If it goes on to run, restore the backup with --new-identity.'
