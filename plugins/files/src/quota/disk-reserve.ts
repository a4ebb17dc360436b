import { type HealthFinding, NodekeepError } from '@nodekeep/plugin-sdk'
import { bytesText } from '@nodekeep/plugin-sdk/bytes-text'
import { diskSpace } from '@nodekeep/plugin-sdk/data-folder'
import type { Mounts } from '../mounts/mounts.ts'
import type { UserPath } from '../paths/user-path.ts'

/** The part of a small disk that is kept free at most. */
const smallDiskShare = 1 / 8

/** Milliseconds for which an answer of the system is used. */
const answerLifeMs = 100

/** How much is free on a disk, in bytes. */
interface Disk {
  readonly free: number
  /** Bytes that uploads leave free. */
  readonly reserve: number
}

/**
 * Keeps a part of the disks of the node free, for its databases: of the disk with its data folder, and of those with mounts. A storage keeps
 * another, smaller part for deletions by itself.
 */
export class DiskReserve {
  readonly #bytes: number
  readonly #dataDir: string
  readonly #mounts: Pick<Mounts, 'points' | 'plainFolderAt'>
  readonly #answers = new Map<string, { readonly disk: Promise<Disk | null>; readonly at: number }>()

  /** @param bytes of `storage.reserve` */
  constructor(bytes: number, dataDir: string, mounts: Pick<Mounts, 'points' | 'plainFolderAt'>) {
    this.#bytes = bytes
    this.#dataDir = dataDir
    this.#mounts = mounts
  }

  /**
   * Resolves if bytes may come to a mount.
   *
   * @param point null for bytes that come to the data folder
   * @throws NodekeepError INSUFFICIENT_STORAGE
   */
  async check(point: UserPath | null, bytes: number): Promise<void> {
    const folder = point === null ? this.#dataDir : this.#mounts.plainFolderAt(point)
    const [own, data] = await Promise.all([
      folder === undefined ? null : this.#diskOf(folder),
      this.#diskOf(this.#dataDir),
    ])
    if (own !== null && own.free - bytes < own.reserve) throw tooLittleLeft(own)
    if (data !== null && data.free < data.reserve) throw tooLittleLeft(data)
  }

  /** Bytes that may still come to a mount; null if its storage has no folder of a disk, or if the disk cannot tell. */
  async leftAt(point: UserPath): Promise<number | null> {
    const folder = this.#mounts.plainFolderAt(point)
    const disk = folder === undefined ? null : await this.#diskOf(folder)
    return disk === null ? null : Math.max(0, disk.free - disk.reserve)
  }

  /** A warning while a disk has less than twice what uploads leave free, and a failure while uploads are refused. */
  async health(): Promise<HealthFinding> {
    const places = new Map([['the data folder', this.#dataDir]])
    for (const point of this.#mounts.points) {
      const folder = this.#mounts.plainFolderAt(point)
      if (folder !== undefined) places.set(`the mount "${point}"`, folder)
    }
    const low: string[] = []
    let isFull = false
    for (const [place, folder] of places) {
      const disk = await this.#diskOf(folder)
      if (disk === null || disk.free >= 2 * disk.reserve) continue
      isFull ||= disk.free < disk.reserve
      low.push(
        `${place} (${bytesText(disk.free)}; with less than ${bytesText(disk.reserve)}, uploads are refused)`,
      )
    }
    if (low.length === 0) return { ok: true, state: 'available' }
    const message = `A disk is almost full: that of ${low.join(', ')}. Free some space on it, or use a larger disk.`
    return { ok: false, state: isFull ? 'full' : 'low', message }
  }

  /** Null for a file system that cannot tell. */
  #diskOf(folder: string): Promise<Disk | null> {
    const now = performance.now()
    const known = this.#answers.get(folder)
    if (known !== undefined && now - known.at < answerLifeMs) return known.disk
    const disk = diskSpace(folder).then(
      (space) => space && { free: space.free, reserve: Math.min(this.#bytes, space.total * smallDiskShare) },
      // The storage tells better what is wrong with it.
      () => null,
    )
    this.#answers.set(folder, { disk, at: now })
    return disk
  }
}

function tooLittleLeft({ free, reserve }: Disk): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    `The disk of the node is full: ${bytesText(Math.max(0, free))} are free, and ${bytesText(reserve)} are left free for the node itself ` +
      '(storage.reserve). Delete files that are no longer needed.',
  )
}
