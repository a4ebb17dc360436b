import type { FileHeaderSource } from '@nodekeep/plugin-sdk'
import type { LazyStore } from '../store/lazy-store.ts'
import type { Publications } from './publications.ts'

/**
 * Names the CID of a file in `x-ipfs-cid`: of one on a mount of the backend, and of a published file that has not changed. Revisions of
 * the backend are random, so a file with one of them has its content.
 */
export function cidHeaders(publications: Publications, store: LazyStore): FileHeaderSource {
  return {
    headersOf({ uuid }, { path, size, revision }) {
      const published = publications.cidOf(uuid, path, revision)
      if (published !== null) return { 'x-ipfs-cid': published }
      return store.isUsed ? storedCid(store, size, revision) : {}
    },
  }
}

async function storedCid(
  store: LazyStore,
  size: number,
  revision: string,
): Promise<Readonly<Record<string, string>>> {
  const { view } = await store.open()
  const select = 'SELECT root FROM entry WHERE revision = ? AND size = ? AND parent <> 0'
  const root = view.connection.prepare(select).get(revision, size)?.root
  if (!(root instanceof Uint8Array)) return {}
  const { CID } = await import('multiformats/cid')
  return { 'x-ipfs-cid': String(CID.decode(root)) }
}
