import { NodekeepError } from '@nodekeep/plugin-sdk'
import { bytesText } from '../bytes-text.ts'
import type { EntryReader } from '../entries/entry-reader.ts'
import type { Journal } from '../journal/journal.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { DiskReserve } from './disk-reserve.ts'
import { HeldRoom, type RoomAccount } from './held-room.ts'
import type { Quotas } from './quotas.ts'

/** The account of a user who holds nothing. */
const noAccount: RoomAccount = { held: 0, settling: new Set() }

interface RoomsServices {
  readonly journal: Pick<Journal, 'entriesOf'>
  readonly quotas: Pick<Quotas, 'of'>
  readonly reserve: DiskReserve
  /** Deletes the oldest of what is kept of a user, until it had a number of bytes. */
  readonly makeRoom: (userUuid: string, bytes: number) => Promise<unknown>
}

/**
 * The room that users take, and may still take: what the journal counts, and what is held for content that it does not count yet. A change
 * passes from one to the other when its intent is recorded, so nothing is counted by both for longer than that, and a crash leaves nothing
 * counted that is not there.
 */
export class Rooms {
  readonly #services: RoomsServices
  readonly #accounts = new Map<string, RoomAccount>()

  constructor(services: RoomsServices) {
    this.#services = services
  }

  /**
   * Holds room for content of a user. Release it in any case.
   *
   * @param point the mount that gets the content; null for the data folder
   * @param bytes that are stored already
   */
  hold(userUuid: string, point: UserPath | null, bytes = 0): HeldRoom {
    const account = this.#accounts.get(userUuid) ?? { held: 0, settling: new Set() }
    this.#accounts.set(userUuid, account)
    return new HeldRoom(account, (more, take) => this.#admit(userUuid, point, more, take), bytes)
  }

  /** Bytes that a user takes. */
  async takenBy(userUuid: string): Promise<number> {
    return this.#taken(await this.#services.journal.entriesOf(userUuid), userUuid)
  }

  /**
   * Resolves while there is enough left of a disk for uploads.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE
   */
  checkDisk(point: UserPath | null): Promise<void> {
    return this.#services.reserve.check(point, 0)
  }

  /** Calls `take` at the moment at which there is room for bytes. */
  async #admit(userUuid: string, point: UserPath | null, bytes: number, take: () => void): Promise<void> {
    const { journal, quotas, reserve, makeRoom } = this.#services
    await reserve.check(point, bytes)
    const quota = quotas.of(userUuid)
    if (quota === null) return take()
    // Without waiting, some bytes may be counted twice, and deleted ones still be counted. If there is room nevertheless, nobody waits.
    const reader = await journal.entriesOf('')
    if (this.#taken(reader, userUuid) + bytes <= quota) return take()
    /** Returns the bytes that are taken, each counted once, if there is no room beside them. */
    const takeExactly = async (): Promise<number | null> => {
      const { settling } = this.#accounts.get(userUuid) ?? noAccount
      for (;;) {
        await Promise.all(settling)
        const reader = await journal.entriesOf(userUuid)
        if (settling.size > 0) continue
        // Nothing may come between this sum and `take`.
        const taken = this.#taken(reader, userUuid)
        if (taken + bytes > quota) return taken
        take()
        return null
      }
    }
    const before = await takeExactly()
    if (before === null) return
    if (bytes <= quota) await makeRoom(userUuid, before + bytes - quota)
    const taken = await takeExactly()
    if (taken !== null) throw overQuota(bytes, taken, quota)
  }

  #taken(reader: EntryReader, userUuid: string): number {
    return reader.takenBy(userUuid) + (this.#accounts.get(userUuid) ?? noAccount).held
  }
}

function overQuota(bytes: number, taken: number, quota: number): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    `You may store ${bytesText(quota)}, and your files, with the trash and former versions, take ${bytesText(taken)} of it, so there is no room for ${bytesText(bytes)} more. ` +
      'Delete files for good, empty the trash, or ask the owner of the node for more room.',
  )
}
