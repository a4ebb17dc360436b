import { constants } from 'node:fs'
import type { Disk } from './disk.ts'
import { isDiskError } from './disk-errors.ts'
import { type Folder, find, openChild } from './folder.ts'
import type { Root } from './root.ts'
import type { SideFolder } from './side-folder.ts'
import type { Store } from './store.ts'
import { walk } from './walk.ts'

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

/** In the side folder, such a folder holds what is being replaced (`OLD`), and where it belongs (`PLACE`). */
const PREFIX = 'replaced'
const PLACE = 'place.json'
const OLD = 'old'

/**
 * Renames `from` to `to`, where something stands that a rename can't replace: a folder, or what a folder takes the
 * place of. That is two renames. What was there waits in the side folder meanwhile; should the process end in
 * between, the next start puts it back.
 *
 * @param names of the destination, for that start
 */
export async function replace(
  store: Store,
  from: string,
  to: string,
  names: readonly string[],
): Promise<void> {
  const { disk, side, syncs } = store
  const aside = side.freshName(PREFIX)
  await disk.mkdir(side.at(aside))
  const folder = await openChild(disk, side, aside)
  try {
    await writeDurably(disk, folder.at(PLACE), Buffer.from(JSON.stringify(names)))
    await Promise.all([syncs.sync(folder), syncs.sync(side)])
    await disk.rename(to, folder.at(OLD))
    await syncs.sync(folder)
    await disk.rename(from, to).catch(async (error: unknown) => {
      await disk.rename(folder.at(OLD), to)
      throw error
    })
    await disk.unlink(folder.at(PLACE))
    await syncs.sync(folder)
  } finally {
    folder.close()
    store.discard(aside)
  }
}

/** Puts back what an ended process had put aside and not replaced. */
export async function putBack(disk: Disk, root: Root, side: SideFolder, aside: string): Promise<void> {
  if (!aside.startsWith(PREFIX)) return
  const folder = await openChild(disk, side, aside)
  try {
    const names = await readNames(disk, folder)
    if (names === null || (await find(disk, folder, OLD)) === null) return
    const { folder: parent, missing } = await walk(disk, root, names.slice(0, -1))
    try {
      const name = names.at(-1) ?? ''
      if (missing.length > 0 || (await find(disk, parent, name)) !== null) return
      await disk.rename(folder.at(OLD), parent.at(name))
      await disk.fsync(parent.fd)
    } finally {
      parent.close()
    }
  } finally {
    folder.close()
  }
}

async function writeDurably(disk: Disk, path: string, bytes: Buffer): Promise<void> {
  const fd = await disk.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    for (let written = 0; written < bytes.length; ) {
      written += await disk.writev(fd, [bytes.subarray(written)], written)
    }
    await disk.fdatasync(fd)
  } finally {
    disk.closeSync(fd)
  }
}

/** Null when there is no whole record: then nothing was put aside yet, or everything was done. */
async function readNames(disk: Disk, folder: Folder): Promise<string[] | null> {
  try {
    const fd = await disk.open(folder.at(PLACE), O_RDONLY | O_NOFOLLOW)
    try {
      const bytes = Buffer.alloc(Number(disk.fstatSync(fd).size))
      await disk.read(fd, bytes, 0, bytes.length, 0)
      return JSON.parse(bytes.toString()) as string[]
    } finally {
      disk.closeSync(fd)
    }
  } catch (error) {
    if (isDiskError(error, 'ENOENT', 'ELOOP') || error instanceof SyntaxError) return null
    throw error
  }
}
