import { readdir, readFile, rename, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { emptyFolder, unpackArchive } from '@nodekeep/plugin-sdk/archive'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import type { ReleaseFile } from '@nodekeep/plugin-sdk/supervision'
import { thisMachine } from './release-index.ts'

/** Bytes that a release may have. Its runtime alone has more than 100 MB. */
const maxBytes = 2 * 1024 ** 3
const maxEntries = 200_000

/** Bytes of a disk that updates never use; on a small disk, a quarter of it. */
const spared = 64 * 1024 ** 2

/** About how much larger than its archive a release is. */
const inflation = 5

interface UnpackOptions {
  readonly version: string
  readonly signal: AbortSignal
  readonly onProgress: (share: number) => void
}

/**
 * Unpacks the archive of a release, whose one top folder is not made: `release.json` is in the folder itself.
 *
 * @param folder an empty folder; when this rejects, it is empty again
 * @throws NodekeepError UPSTREAM_ERROR if it is no archive of this release; INSUFFICIENT_STORAGE; the signal's reason
 */
export async function unpackRelease(
  archive: string,
  folder: string,
  { version, ...options }: UnpackOptions,
): Promise<void> {
  await unpackArchive(archive, folder, { ...options, maxBytes, maxEntries }).catch(blameSource)
  try {
    await liftTopFolder(folder)
    const release = await readRelease(folder)
    if (release.version !== version) throw unusable(`it does not contain the version ${version}`)
    if (release.platform !== thisMachine) throw unusable(`it is not for ${thisMachine}`)
  } catch (error) {
    await emptyFolder(folder)
    throw error
  }
}

/**
 * Checks that an archive, and what is unpacked from it, fit on their disks.
 *
 * @throws NodekeepError INSUFFICIENT_STORAGE
 */
export async function requireSpace(archive: string, folder: string, bytes: number): Promise<void> {
  const unpacked = bytes * inflation
  const place = dirname(archive)
  const [one, other] = await Promise.all([stat(place), stat(folder)])
  await requireFreeSpace(folder, one.dev === other.dev ? unpacked + bytes : unpacked)
  if (one.dev !== other.dev) await requireFreeSpace(place, bytes)
}

/** Returns what to tell of an error of a full disk; every other error as it is. */
export function explainFullDisk(error: unknown): unknown {
  return isDiskFull(error) ? diskFull(error) : error
}

/** Returns the error of a full disk. */
export function diskFull(cause: unknown): NodekeepError {
  const message = `The disk has too little space for the update. ${remedy}`
  return new NodekeepError('INSUFFICIENT_STORAGE', message, { cause })
}

const remedy = 'Free some space, or name a folder on another disk in releases.folder.'

async function requireFreeSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, blocks, bsize } = await statfs(folder)
  const free = bavail * bsize - Math.min(spared, (blocks * bsize) / 4)
  if (free >= bytes) return
  const [needed, left] = [bytes, Math.max(0, free)].map((size) => Math.ceil(size / 1024 ** 2))
  const message = `The disk has too little space for the update: about ${needed} MiB are needed, and ${left} MiB are free. ${remedy}`
  throw new NodekeepError('INSUFFICIENT_STORAGE', message)
}

/** The publisher has signed an archive that no node can use. */
function blameSource(error: unknown): never {
  if (!isNodekeepError(error) || !['VALIDATION_ERROR', 'PAYLOAD_TOO_LARGE'].includes(error.code)) throw error
  throw new NodekeepError('UPSTREAM_ERROR', error.message, { cause: error })
}

async function liftTopFolder(folder: string): Promise<void> {
  const [top, ...others] = await readdir(folder, { withFileTypes: true })
  if (top === undefined || !top.isDirectory() || others.length > 0)
    throw unusable('it has not one top folder')
  const path = join(folder, top.name)
  for (const name of await readdir(path)) {
    if (name === top.name) throw unusable(`it has the name "${name}" twice, one in the other`)
    await rename(join(path, name), join(folder, name))
  }
  await rmdir(path)
}

/** Reads what the release says of itself. Without `release.json`, it says nothing. */
async function readRelease(folder: string): Promise<Partial<ReleaseFile>> {
  try {
    return JSON.parse(await readFile(join(folder, 'release.json'), 'utf8')) ?? {}
  } catch {
    return {}
  }
}

function unusable(reason: string): NodekeepError {
  return new NodekeepError(
    'UPSTREAM_ERROR',
    `The archive of the update cannot be used: ${reason}. Its publisher has to correct it.`,
  )
}
