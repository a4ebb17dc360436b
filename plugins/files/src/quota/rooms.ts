import { KeyedLock, NodekeepError, type RoomLeft } from '@nodekeep/plugin-sdk'
import { bytesText } from '@nodekeep/plugin-sdk/bytes-text'
import type { EntryReader } from '../entries/entry-reader.ts'
import type { Journal } from '../journal/journal.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { DiskReserve } from './disk-reserve.ts'
import { HeldRoom, type RoomAccount } from './held-room.ts'
import type { Quotas } from './quotas.ts'

/** The account of a user who holds nothing. */
const noAccount: RoomAccount = { held: 0, secured: 0, settling: new Set() }

interface RoomsServices {
  readonly journal: Pick<Journal, 'entriesOf'>
  readonly quotas: Pick<Quotas, 'of'>
  readonly reserve: DiskReserve
  /** Counts the bytes of what is kept of a user and may give way, until they are enough. */
  readonly spareBytes: (userUuid: string, enough: number) => Promise<number>
  /** Deletes the oldest of what is kept of a user, until it had a number of bytes. */
  readonly makeRoom: (userUuid: string, bytes: number) => Promise<unknown>
}

/** Bytes that may come beside those of a user that are there, or are to come. */
interface Added {
  readonly bytes: number
  /** The bytes that count beside those of the journal. */
  readonly beside: 'held' | 'secured'
  /** The most bytes of all. */
  readonly most: number
}

/**
 * The room that users take, and may still take: what the journal counts, and what is held for content that it does not count yet. A change
 * passes from one to the other when its intent is recorded, so nothing is counted by both for longer than that, and a crash leaves nothing
 * counted that is not there.
 *
 * Content gets its room in two steps. When it comes, it needs room beside all that cannot give way. Right before it is stored, it needs room
 * beside everything, and only then the oldest of what is kept gives way: an upload that is refused or broken off has cost nothing.
 */
export class Rooms {
  readonly #services: RoomsServices
  readonly #accounts = new Map<string, RoomAccount>()
  /** Files of a user get their room one after the other: something that gives way to one is not there for another one. */
  readonly #givingWay = new KeyedLock()

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
    const account = this.#accounts.get(userUuid) ?? { held: 0, secured: 0, settling: new Set() }
    this.#accounts.set(userUuid, account)
    let spare = 0
    /** Counts twice as much as is needed: content of an unknown size asks for each of its chunks. */
    const spareFor = async (needed: number) => {
      if (spare < needed) spare = await this.#services.spareBytes(userUuid, 2 * needed)
      return spare
    }
    const steps = {
      admit: (more: number, take: () => void) => this.#admit(userUuid, point, more, take, spareFor),
      secure: (stored: number, take: () => void, check: () => Promise<void>) =>
        this.#secure(userUuid, stored, take, check),
    }
    return new HeldRoom(account, steps, bytes)
  }

  /** Bytes that a user takes. */
  async takenBy(userUuid: string): Promise<number> {
    return this.#taken(await this.#services.journal.entriesOf(userUuid), userUuid)
  }

  /** How much a user takes, and may store in addition at a mount. */
  async leftAt(userUuid: string, point: UserPath): Promise<RoomLeft> {
    const { quotas, reserve } = this.#services
    const taken = await this.takenBy(userUuid)
    const quota = quotas.of(userUuid)
    const ofQuota = quota === null ? null : Math.max(0, quota - taken)
    const ofDisk = await reserve.leftAt(point)
    return {
      taken,
      left: ofQuota === null || ofDisk === null ? (ofQuota ?? ofDisk) : Math.min(ofQuota, ofDisk),
    }
  }

  /**
   * Resolves while there is enough left of a disk for uploads.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE
   */
  checkDisk(point: UserPath | null): Promise<void> {
    return this.#services.reserve.check(point, 0)
  }

  /** @param spareFor counts what may give way, up to the needed bytes or more */
  async #admit(
    userUuid: string,
    point: UserPath | null,
    bytes: number,
    take: () => void,
    spareFor: (needed: number) => Promise<number>,
  ): Promise<void> {
    const { quotas, reserve } = this.#services
    await reserve.check(point, bytes)
    const quota = quotas.of(userUuid)
    if (quota === null) return take()
    const added = { bytes, beside: 'held', most: quota } as const
    if (await this.#takeAtOnce(userUuid, added, take)) return
    let taken = await this.#takeExactly(userUuid, added, take)
    // Other content may get its room first.
    while (taken !== null) {
      const needed = taken + bytes - quota
      const spare = bytes > quota ? 0 : await spareFor(needed)
      if (spare < needed) throw overQuota(bytes, taken, quota)
      taken = await this.#takeExactly(userUuid, { ...added, most: quota + spare }, take)
    }
  }

  async #secure(
    userUuid: string,
    bytes: number,
    take: () => void,
    check: () => Promise<void>,
  ): Promise<void> {
    const { quotas, makeRoom } = this.#services
    const quota = quotas.of(userUuid)
    // An empty file takes nothing, also of somebody who has too much.
    if (quota === null || bytes === 0) return take()
    const added = { bytes, beside: 'secured', most: quota } as const
    if (await this.#takeAtOnce(userUuid, added, take)) return
    await this.#givingWay.run([userUuid], async () => {
      let taken = await this.#takeExactly(userUuid, added, take)
      if (taken !== null) await check()
      while (taken !== null) {
        const before: number = taken
        await makeRoom(userUuid, before + bytes - quota)
        taken = await this.#takeExactly(userUuid, added, take)
        // Something else may have taken a part of what was freed.
        if (taken !== null && taken >= before) throw overQuota(bytes, taken, quota)
      }
    })
  }

  /** Without waiting, some bytes may be counted twice, and deleted ones still be counted. If there is room nevertheless, nobody waits. */
  async #takeAtOnce(userUuid: string, { bytes, beside, most }: Added, take: () => void): Promise<boolean> {
    const reader = await this.#services.journal.entriesOf('')
    if (reader.takenBy(userUuid) + this.#accountOf(userUuid)[beside] + bytes > most) return false
    take()
    return true
  }

  /**
   * Calls `take` if there is room.
   *
   * @returns the bytes that are taken, each counted once, if there is none; otherwise null
   */
  async #takeExactly(
    userUuid: string,
    { bytes, beside, most }: Added,
    take: () => void,
  ): Promise<number | null> {
    const { settling } = this.#accountOf(userUuid)
    for (;;) {
      await Promise.all(settling)
      const reader = await this.#services.journal.entriesOf(userUuid)
      if (settling.size > 0) continue
      // Nothing may come between this sum and `take`.
      const taken = reader.takenBy(userUuid) + this.#accountOf(userUuid)[beside]
      if (taken + bytes > most) return taken
      take()
      return null
    }
  }

  #taken(reader: EntryReader, userUuid: string): number {
    return reader.takenBy(userUuid) + this.#accountOf(userUuid).held
  }

  #accountOf(userUuid: string): RoomAccount {
    return this.#accounts.get(userUuid) ?? noAccount
  }
}

function overQuota(bytes: number, taken: number, quota: number): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    `You may store ${bytesText(quota)}, and your files, with the trash and former versions, take ${bytesText(taken)} of it, so there is no room for ${bytesText(bytes)} more. ` +
      'Delete files for good, empty the trash, or ask the owner of the node for more room.',
    { reason: 'quota-not-exceeded' },
  )
}
