import type { Disk, LocalEntry, Remote, RemoteEntry } from './ports.ts'
import type { Replicas } from './replicas.ts'
import { folded, folderOf, foldersAbove, inFolder, isSyncPath, nameOf, ownFolder } from './sync-paths.ts'
import { mostEntries, mostPathBytes, tooManyEntries } from './sync-state.ts'

/** Scans a path of the disk, and at everything below it. If a folder above may be left alone, that one is scanned next instead. */
export async function scanLocal(replicas: Replicas, disk: Disk, path: string): Promise<void> {
  const above = leftAloneAbove(replicas, path)
  if (above !== undefined) {
    replicas.dirtyLocal.add(above)
    return
  }
  using scan = replicas.beginLocalScan()
  const found = new Map<string, LocalEntry>()
  const take = (each: string, entry: LocalEntry) => {
    if (replicas.ignores(each, entry.type === 'directory')) return false
    const isFit = isSyncPath(each)
    found.set(each, isFit ? entry : { type: 'other', reason: 'The node cannot have this name.' })
    return isFit
  }
  const entry = path === '/' ? null : await disk.stat(path)
  const isFolder = path === '/' || (entry !== null && take(path, entry) && entry.type === 'directory')
  if (isFolder) await gather(path, (each) => disk.list(each), take)
  const paths = new Set([...replicas.local.within(path), ...found.keys()])
  for (const each of paths) {
    if (scan.isTouched(each)) replicas.dirtyLocal.add(each)
    else replicas.seeLocal(each, found.get(each) ?? null)
  }
  if (entry !== null && entry.type !== 'other' && !scan.isTouched(path)) {
    for (const folder of foldersAbove(path)) replicas.seeLocal(folder, { type: 'directory' })
  }
}

/** The folder above a path that is left alone, or that may have to be, because the path is that of a client's own folder in it. */
function leftAloneAbove({ local }: Replicas, path: string): string | undefined {
  const isOwn = (each: string) => folded(nameOf(each)) === nameOf(ownFolder) && folderOf(each) !== '/'
  const own = [...foldersAbove(path), path].find(isOwn)
  const other = foldersAbove(path).find((each) => local.get(each)?.type === 'other')
  return other ?? (own === undefined ? undefined : folderOf(own))
}

/** Scans a path of the node, and at everything below it. */
export async function scanRemote(replicas: Replicas, remote: Remote, path: string): Promise<void> {
  using scan = replicas.beginRemoteScan()
  const { state } = replicas
  const found = new Map<string, RemoteEntry>()
  const entry = await remote.stat(path)
  if (entry !== null) found.set(path, entry)
  if (entry?.type === 'directory') await gatherRemote(remote, path, found)
  const paths = new Set([path, ...state.remote.within(path), ...found.keys()])
  state.transaction(() => {
    for (const each of paths) {
      if (scan.isTouched(each)) state.markDirty(each)
      else replicas.recordScan(path, each, found.get(each) ?? null)
    }
    if (!scan.isTouched(path)) state.markClean(path)
    // A change that made missing folders too names only its own path. It may be gone again, and the folders still there.
    const folder = folderOf(path)
    if (!found.has(path) && folder !== '/' && state.remote.get(folder) === undefined) state.markDirty(folder)
    if (found.has(path) && !scan.isTouched(path)) {
      for (const folder of foldersAbove(path)) replicas.seeRemote(folder, { type: 'directory' })
    }
  })
}

/** Lists everything on the node. */
export async function listRemote(remote: Remote): Promise<Map<string, RemoteEntry>> {
  const found = new Map<string, RemoteEntry>()
  await gatherRemote(remote, '/', found)
  return found
}

async function gatherRemote(remote: Remote, path: string, found: Map<string, RemoteEntry>): Promise<void> {
  let bytes = 0
  await gather(
    path,
    (each) => remote.list(each),
    (each, child) => {
      // A path outside of the folder comes only from a hostile node.
      if (!isSyncPath(each)) return false
      found.set(each, child)
      bytes += Buffer.byteLength(each)
      if (found.size > mostEntries || bytes > mostPathBytes) throw tooManyEntries()
      return true
    },
  )
}

/**
 * Lists a folder and the folders below it.
 *
 * @param take records an entry, and returns whether it counts
 */
async function gather<Entry extends { readonly type: string }>(
  path: string,
  list: (folder: string) => Promise<ReadonlyMap<string, Entry> | null>,
  take: (path: string, entry: Entry) => boolean,
): Promise<void> {
  const folders = [path]
  for (const each of folders) {
    for (const [name, entry] of (await list(each)) ?? []) {
      const child = inFolder(each, name)
      if (take(child, entry) && entry.type === 'directory') folders.push(child)
    }
  }
}
