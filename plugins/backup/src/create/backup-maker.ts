import { rm } from 'node:fs/promises'
import { type BackupParticipant, type Log, NodekeepError, type RegistryReader } from '@nodekeep/plugin-sdk'
import { writeArchive } from '../archive/write-archive.ts'
import type { BackupFolder, StoredBackup } from '../stored/backup-folder.ts'
import { contentOf, type DescribedNode } from './archive-content.ts'
import { requireFreeSpace } from './free-space.ts'
import { defaultLimits, type SnapshotLimits, takeNodeSnapshot } from './node-snapshot.ts'

/** A backup that was just made. */
export interface MadeBackup extends Pick<StoredBackup, 'filename' | 'size' | 'created'> {
  readonly omitted: number
  /** Files that another program changed while they were read. */
  readonly changed: number
  /** Bytes of the content. */
  readonly bytes: number
}

/** How far a running backup is. */
interface BackupProgress {
  readonly step: 'preparing' | 'writing'
  readonly startedAt: Date
  /** Files and folders that are in the archive. */
  readonly entries: number
  /** Bytes of their content. */
  readonly bytes: number
  /** The share that is done, from 0 to 1, by the size of the backup before; null for the first one. */
  readonly share: number | null
}

interface MakerServices extends DescribedNode {
  readonly participants: RegistryReader<BackupParticipant>
  readonly folder: BackupFolder
  readonly recipients: readonly string[]
  /** Parts that backups leave out by default, and these are to have. */
  readonly include: readonly string[]
  readonly log: Pick<Log, 'info'>
  readonly limits?: SnapshotLimits
}

/** Bytes after which the free space is checked again. */
const bytesBetweenChecks = 8 * 1024 * 1024

/** Makes backups, one at a time. */
export class BackupMaker {
  readonly #services: MakerServices
  #progress: BackupProgress | null = null
  /** Bytes of content in the last backup. */
  #lastBytes: number | null = null

  constructor(services: MakerServices) {
    this.#services = services
  }

  /** How far the running backup is; null if none runs. */
  get progress(): BackupProgress | null {
    return this.#progress
  }

  /**
   * Makes a backup. Resolves when the archive is whole, on the disk, and listed.
   *
   * @param moreRecipients open this backup, too
   * @throws NodekeepError CONFLICT while another one is made, INSUFFICIENT_STORAGE, or the error of a participant; nothing is left
   *   behind then
   */
  async make(signal: AbortSignal, moreRecipients: readonly string[] = []): Promise<MadeBackup> {
    if (this.#progress !== null) {
      throw new NodekeepError(
        'CONFLICT',
        'A backup is being made. `GET /api/backup/status` tells how far it is.',
      )
    }
    const startedAt = new Date()
    this.#progress = { step: 'preparing', startedAt, entries: 0, bytes: 0, share: null }
    try {
      return await this.#make(startedAt, signal, moreRecipients)
    } finally {
      this.#progress = null
    }
  }

  async #make(
    startedAt: Date,
    callersSignal: AbortSignal,
    moreRecipients: readonly string[],
  ): Promise<MadeBackup> {
    const { participants, folder, recipients, include, log, limits = defaultLimits } = this.#services
    const file = await folder.newFile()
    await requireFreeSpace(folder.path, await folder.newestSize())
    const full = new AbortController()
    const signal = AbortSignal.any([callersSignal, full.signal])
    await using snapshot = await takeNodeSnapshot(participants, signal, limits, { include })
    const content = await contentOf(snapshot, this.#services)
    let checked = 0
    const written = await writeArchive(file, {
      ...content,
      recipients: [...recipients, ...moreRecipients],
      stallMs: limits.stallMs,
      signal,
      onProgress: ({ entries, bytes }) => {
        const share = this.#lastBytes === null ? null : Math.min(1, bytes / Math.max(1, this.#lastBytes))
        this.#progress = { step: 'writing', startedAt, entries, bytes, share }
        if (bytes - checked < bytesBetweenChecks) return
        checked = bytes
        requireFreeSpace(folder.path, 0).catch((error) => full.abort(error))
      },
    })
    this.#lastBytes = written.bytes
    const changed = written.changed.length
    try {
      const filename = await folder.publish(file, snapshot.moment)
      const made = {
        filename,
        size: written.size,
        created: snapshot.moment,
        omitted: content.header.omitted.length,
        changed,
        bytes: written.bytes,
      }
      log.info({ ...made, seconds: (Date.now() - startedAt.getTime()) / 1000 }, 'A backup was made.')
      return made
    } catch (error) {
      await rm(file, { force: true })
      throw error
    }
  }
}
