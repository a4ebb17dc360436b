import { mkdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type BackupParticipant, NodekeepError, type RegistryReader } from '@nodekeep/plugin-sdk'
import { emptyFolder } from '@nodekeep/plugin-sdk/archive'
import { contentOf, type DescribedNode } from '../create/archive-content.ts'
import { defaultLimits, type SnapshotLimits, takeNodeSnapshot } from '../create/node-snapshot.ts'
import { writeUnpackedBackup } from './write-unpacked-backup.ts'

interface LentFolderServices extends DescribedNode {
  readonly participants: RegistryReader<BackupParticipant>
  /** The folder in which the view is made. */
  readonly folder: string
  /** Parts that backups leave out by default, and the view is to have. */
  readonly include: readonly string[]
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
  readonly limits?: SnapshotLimits
}

/** How a view is made, and until when it is lent. */
interface Loan {
  /** Whether all files are copies, for programs that write into them. */
  readonly copies: boolean
  /** Aborted when the borrower is gone. */
  readonly signal: AbortSignal
}

/** Lends a view of the whole node at one moment: a folder with the layout of an archive. One view is lent at a time. */
export class LentFolder {
  readonly #services: LentFolderServices
  /** Where the view is. It is the same each time, because programs find their last backup by the path. */
  readonly #path: string
  #lent: { readonly back: AbortController; readonly ended: Promise<void> } | null = null

  constructor(services: LentFolderServices) {
    this.#services = services
    this.#path = join(services.folder, 'moment')
  }

  /**
   * Makes a view and lends it until it is given back, the borrower is gone, or the plugin stops. Resolves when the view is removed.
   *
   * @param onReady called with the path of the view
   * @throws NodekeepError CONFLICT while a view is lent, INSUFFICIENT_STORAGE, or the error of a participant; nothing is left
   *   behind then
   */
  async lend({ copies, signal: borrower }: Loan, onReady: (path: string) => void): Promise<void> {
    if (this.#lent !== null) {
      throw new NodekeepError(
        'CONFLICT',
        'A moment is lent already. It is given back when its program ends, or by `DELETE /api/backup/moment`.',
      )
    }
    const back = new AbortController()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#lent = { back, ended }
    const signal = AbortSignal.any([borrower, back.signal, this.#services.signal])
    try {
      await this.#make(copies, signal)
      onReady(this.#path)
      await aborted(signal)
    } finally {
      try {
        await this.#remove()
      } finally {
        this.#lent = null
        end()
      }
    }
  }

  /**
   * Takes the view back. Resolves when it is removed.
   *
   * @throws NodekeepError NOT_FOUND if none is lent
   */
  async giveBack(): Promise<void> {
    if (this.#lent === null) throw new NodekeepError('NOT_FOUND', 'No moment is lent.')
    this.#lent.back.abort(
      new NodekeepError('CONFLICT', 'The moment was given back before its view was complete.'),
    )
    await this.#lent.ended
  }

  /** Waits until the lent view is removed. Abort the signal of the plugin before. */
  async close(): Promise<void> {
    await this.#lent?.ended
  }

  /** Removes a view that a crash has left. */
  async removeStale(): Promise<void> {
    if (this.#lent === null) await this.#remove()
  }

  async #remove(): Promise<void> {
    try {
      await emptyFolder(this.#path)
      await rmdir(this.#path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  async #make(copies: boolean, signal: AbortSignal): Promise<void> {
    const { participants, include, limits = defaultLimits } = this.#services
    await this.#remove()
    await mkdir(this.#path, { recursive: true, mode: 0o700 })
    await using snapshot = await takeNodeSnapshot(participants, signal, limits, { include })
    await writeUnpackedBackup(this.#path, await contentOf(snapshot, this.#services), {
      copies,
      signal,
      stallMs: limits.stallMs,
    })
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
