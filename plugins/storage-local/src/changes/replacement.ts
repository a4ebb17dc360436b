import { constants } from 'node:fs'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { find, openChild } from '../folders/folder.ts'
import type { StagingFolder } from '../folders/staging-folder.ts'
import { stagingFolderName } from '../folders/stored-names.ts'
import { walk } from '../folders/walk.ts'
import type { KeptPlace } from './kept-place.ts'
import type { Store } from './store.ts'

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

/** Files of the folder that each replacement has in the staging folder: its record, and the replaced file or folder, unless it is kept elsewhere. */
const recordName = 'intent.json'
const oldName = 'old'

/** The record of a replacement. While it exists, the next start undoes the replacement. */
interface ReplacementRecord {
  readonly kind: 'replace'
  /** The destination: its names from the root on. */
  readonly names: readonly string[]
  /** The names of the place at which the replaced file or folder is kept, from the root on. */
  readonly kept?: readonly string[]
}

/** The file or folder that a replacement replaces. */
interface Replaced {
  /** The names of the destination, from the root on. */
  readonly names: readonly string[]
  /** The place at which it is kept; null if it is not. */
  readonly place: KeptPlace | null
}

/**
 * Renames `from` to `to` where one rename cannot replace what is at `to`: a folder is there, or a folder comes. It
 * takes two renames. Between them the old file or folder waits in the staging folder, or at the place where it is kept, and a record is on the disk.
 */
export async function replace(
  store: Store,
  from: string,
  to: string,
  { names, place }: Replaced,
): Promise<void> {
  const { disk, staging, syncs, discards } = store
  const name = staging.freshName('intent')
  await disk.mkdir(staging.at(name))
  const folder = await openChild(disk, staging, name)
  const removeRecord = async () => {
    await disk.unlink(folder.at(recordName))
    await syncs.sync(folder)
  }
  try {
    const record = { kind: 'replace', names, ...(place && { kept: place.names }) } as const
    await writeRecord(disk, folder.at(recordName), record)
    await Promise.all([syncs.sync(folder), syncs.sync(staging)])
    try {
      const old = place?.at ?? folder.at(oldName)
      await disk.rename(to, old)
      await (place ? place.makeDurable() : syncs.sync(folder))
      await disk.rename(from, to).catch(async (error: unknown) => {
        await disk.rename(old, to)
        throw error
      })
    } catch (error) {
      // Everything is as it was. The folder may wait for its removal while others change the destination.
      await removeRecord().catch(() => {})
      throw error
    }
    await removeRecord()
  } finally {
    folder.close()
    discards.add(name)
  }
}

/**
 * Undoes the replacement that a folder of the staging folder belongs to: puts the old file or folder back, unless
 * something is at the destination.
 *
 * @returns false when the folder belongs to no replacement, or to one that is complete
 */
export async function undoReplacement(
  { disk, root, staging, syncs }: Store,
  stagingName: string,
): Promise<boolean> {
  const record = await readRecord(disk, staging, stagingName)
  if (record === null) return false
  const { names, kept = [stagingFolderName, stagingName, oldName] } = record
  const to = await walk(disk, root, names.slice(0, -1))
  try {
    const from = await walk(disk, root, kept.slice(0, -1))
    try {
      const [name = '', old = ''] = [names.at(-1), kept.at(-1)]
      const wasReplaced = from.missing.length === 0 && (await find(disk, from.folder, old)) !== null
      if (wasReplaced && to.missing.length === 0 && (await find(disk, to.folder, name)) === null) {
        await disk.rename(from.folder.at(old), to.folder.at(name))
        await syncs.sync(to.folder)
        await syncs.sync(from.folder)
      }
    } finally {
      from.folder.close()
    }
  } finally {
    to.folder.close()
  }
  return true
}

async function writeRecord(disk: Disk, path: string, record: ReplacementRecord): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(record))
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

async function readRecord(
  disk: Disk,
  staging: StagingFolder,
  stagingName: string,
): Promise<ReplacementRecord | null> {
  if (!stagingName.startsWith('intent')) return null
  try {
    const fd = await disk.open(staging.at(`${stagingName}/${recordName}`), O_RDONLY | O_NOFOLLOW)
    try {
      const bytes = Buffer.alloc(Number(disk.fstatSync(fd).size))
      await disk.read(fd, bytes, 0, bytes.length, 0)
      const record = JSON.parse(bytes.toString()) as ReplacementRecord
      return record.kind === 'replace' ? record : null
    } finally {
      disk.closeSync(fd)
    }
  } catch (error) {
    // An incomplete record was never synced, so nothing had been renamed.
    if (isDiskError(error, 'ENOENT', 'ENOTDIR', 'ELOOP') || error instanceof SyntaxError) return null
    throw error
  }
}
