import type { CID } from 'multiformats/cid'
import type { LazyStore } from '../store/lazy-store.ts'
import type { Store } from '../store/store.ts'
import type { Publications } from './publications.ts'

/** Begins the holder of the root of a publication in the store. Its id follows. */
const prefix = 'publication:'

/** Returns the id of the publication that holds a root; null if something else holds it. */
export function publicationOfHolder(holder: string): string | null {
  return holder.startsWith(prefix) ? holder.slice(prefix.length) : null
}

/** Lets the store keep all blocks below a CID for a publication, or none any more. */
export function setPublicationRoot(store: Store, id: string, cid: CID | null): Promise<void> {
  return store.change([{ kind: 'root', holder: prefix + id, cid: cid?.bytes ?? null }])
}

/** Returns the CIDs of the roots that the store has for publications, by id. */
export async function publicationRoots(store: LazyStore): Promise<ReadonlyMap<string, string>> {
  if (!store.isUsed) return new Map()
  const { view } = await store.open()
  const { CID } = await import('multiformats/cid')
  const roots = new Map<string, string>()
  for (const { holder, cid } of view.connection.prepare('SELECT holder, cid FROM root').all()) {
    const id = publicationOfHolder(String(holder))
    if (id !== null) roots.set(id, String(CID.decode(cid as Uint8Array)))
  }
  return roots
}

/** Removes what is left of a publication that is not visible. */
export async function removePublication(
  publications: Publications,
  store: LazyStore,
  id: string,
): Promise<void> {
  if (store.isUsed) await setPublicationRoot(await store.open(), id, null)
  await publications.remove(id)
}
