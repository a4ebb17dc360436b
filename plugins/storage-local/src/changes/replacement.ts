import type { Disk } from '../disk/disk.ts'
import { find } from '../folders/folder.ts'
import { intending } from '../folders/intent.ts'
import type { Root } from '../folders/root.ts'
import type { SideFolder } from '../folders/side-folder.ts'
import { walk } from '../folders/walk.ts'
import type { Store } from './store.ts'

const OLD = 'old'

/**
 * Renames `from` to `to`, where something stands that a rename cannot replace: a folder, or what a folder takes the
 * place of. That is two renames; what was there waits in the side folder.
 *
 * @param names of the destination
 */
export async function replace(
  store: Store,
  from: string,
  to: string,
  names: readonly string[],
): Promise<void> {
  const { disk, syncs } = store
  await intending(store, { kind: 'replace', names }, async (folder) => {
    await disk.rename(to, folder.at(OLD))
    await syncs.sync(folder)
    await disk.rename(from, to).catch(async (error: unknown) => {
      await disk.rename(folder.at(OLD), to)
      throw error
    })
  })
}

/** Puts back what was set aside, unless its place was taken. */
export async function putBack(
  disk: Disk,
  root: Root,
  side: SideFolder,
  name: string,
  names: readonly string[],
): Promise<void> {
  const old = side.at(`${name}/${OLD}`)
  const { folder, missing } = await walk(disk, root, names.slice(0, -1))
  try {
    const last = names.at(-1) ?? ''
    if (missing.length > 0 || disk.lstatSync(old) === undefined || (await find(disk, folder, last)) !== null)
      return
    await disk.rename(old, folder.at(last))
    await disk.fsync(folder.fd)
  } finally {
    folder.close()
  }
}
