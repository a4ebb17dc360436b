import { constants } from 'node:fs'
import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { find, openChild } from '../folders/folder.ts'
import type { StagingFolder } from '../folders/staging-folder.ts'
import { walk } from '../folders/walk.ts'
import type { Store } from './store.ts'

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

/** Files of the folder that each replacement has in the staging folder: its record, and the replaced file or folder. */
const recordName = 'intent.json'
const oldName = 'old'

/** The record of a replacement. While it exists, the next start undoes the replacement. */
interface ReplacementRecord {
  readonly kind: 'replace'
  /** The destination: its names from the root on. */
  readonly names: readonly string[]
}

/**
 * Renames `from` to `to` where one rename cannot replace what is at `to`: a folder is there, or a folder comes. It
 * takes two renames. Between them the old file or folder waits in the staging folder, beside a record on the disk.
 *
 * @param names the names of the destination, from the root on
 */
export async function replace(
  store: Store,
  from: string,
  to: string,
  names: readonly string[],
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
    await writeRecord(disk, folder.at(recordName), { kind: 'replace', names })
    await Promise.all([syncs.sync(folder), syncs.sync(staging)])
    try {
      await disk.rename(to, folder.at(oldName))
      await syncs.sync(folder)
      await disk.rename(from, to).catch(async (error: unknown) => {
        await disk.rename(folder.at(oldName), to)
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
  const old = staging.at(`${stagingName}/${oldName}`)
  const { folder, missing } = await walk(disk, root, record.names.slice(0, -1))
  try {
    const name = record.names.at(-1) ?? ''
    const canReturn =
      missing.length === 0 && disk.lstatSync(old) !== undefined && (await find(disk, folder, name)) === null
    if (canReturn) {
      await disk.rename(old, folder.at(name))
      await syncs.sync(folder)
    }
  } finally {
    folder.close()
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
