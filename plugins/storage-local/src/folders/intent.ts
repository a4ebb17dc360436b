import { constants } from 'node:fs'
import type { Store } from '../changes/store.ts'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild } from './folder.ts'
import type { SideFolder } from './side-folder.ts'

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

/** In the side folder, the folder of an intent has its words in this file. */
const words = 'intent.json'

/** A change of several steps. Should the process end between them, the next start undoes what was done. */
export type Intent =
  /** What has these names is set aside, as `old` beside the words, while something else takes its place. */
  | { readonly kind: 'replace'; readonly names: readonly string[] }
  /** Below the folder with these names, these new ones are made, for something that moves into them. */
  | { readonly kind: 'make'; readonly names: readonly string[]; readonly missing: readonly string[] }

/** Runs the steps with the intent on the disk, and a folder for what belongs to it. */
export async function intending(
  { disk, side, syncs, discard }: Store,
  intent: Intent,
  steps: (folder: Folder) => Promise<void>,
): Promise<void> {
  const name = side.freshName('intent')
  await disk.mkdir(side.at(name))
  const folder = await openChild(disk, side, name)
  const settle = async () => {
    await disk.unlink(folder.at(words))
    await syncs.sync(folder)
  }
  try {
    await writeDurably(disk, folder.at(words), Buffer.from(JSON.stringify(intent)))
    await Promise.all([syncs.sync(folder), syncs.sync(side)])
    await steps(folder).catch(async (error: unknown) => {
      // They have undone what they did. The folder may wait for its removal while the tree goes on.
      await settle().catch(() => {})
      throw error
    })
    await settle()
  } finally {
    folder.close()
    discard(name)
  }
}

/** Reads the intent in a folder of the side folder; null when there is none, or when its change is complete. */
export async function readIntent(disk: Disk, side: SideFolder, name: string): Promise<Intent | null> {
  if (!name.startsWith('intent')) return null
  try {
    const fd = await disk.open(side.at(`${name}/${words}`), O_RDONLY | O_NOFOLLOW)
    try {
      const bytes = Buffer.alloc(Number(disk.fstatSync(fd).size))
      await disk.read(fd, bytes, 0, bytes.length, 0)
      return JSON.parse(bytes.toString()) as Intent
    } finally {
      disk.closeSync(fd)
    }
  } catch (error) {
    // Words that aren't whole were never synced, so no step had been made.
    if (isDiskError(error, 'ENOENT', 'ENOTDIR', 'ELOOP') || error instanceof SyntaxError) return null
    throw error
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
