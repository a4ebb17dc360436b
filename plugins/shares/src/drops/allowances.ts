import { type FileRoom, type FilesService, KeyedLock, NodekeepError } from '@nodekeep/plugin-sdk'
import { isOverQuota, lacksRoom, noRoom } from '../guests/no-room.ts'
import type { Share } from '../share.ts'
import type { ShareTable } from '../tables/share-table.ts'

/** Files and bytes that guests may still upload. */
export interface Left {
  readonly files: number
  readonly bytes: number
}

/** The link of an upload, and its maker. */
type ShareOfUpload = Pick<Share, 'id' | 'userUuid'>

/** Uploads of one network, and of one link, that are not complete. */
const mostOfNetwork = 64
const mostOfLink = 256

/** A part of what guests may upload by a link, and of the room of its maker, for one file that is being uploaded. */
export class Allowance {
  readonly share: ShareOfUpload
  readonly network: string
  readonly room: FileRoom
  bytes: number
  readonly #allowances: Allowances
  readonly #gaveWay = new AbortController()
  #isGrowing: boolean

  /** @param bytes of the file; null if its length is not known yet */
  constructor(
    allowances: Allowances,
    share: ShareOfUpload,
    { network, room, bytes }: Pick<Allowance, 'network' | 'room'> & { readonly bytes: number | null },
  ) {
    this.#allowances = allowances
    this.share = share
    this.network = network
    this.room = room
    this.bytes = bytes ?? 0
    this.#isGrowing = bytes === null
  }

  /** Aborts when the upload gives way to an older one. */
  get signal(): AbortSignal {
    return this.#gaveWay.signal
  }

  /** Whether the length of the file is not known yet. */
  get isGrowing(): boolean {
    return this.#isGrowing
  }

  /**
   * Holds room of the maker.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE, with a message that does not tell how much there is
   */
  async hold(bytes: number): Promise<void> {
    try {
      await this.room.extend(bytes)
    } catch (error) {
      throw lacksRoom(error) ? noRoom(error) : error
    }
  }

  /**
   * Takes more bytes for a file whose length is not known.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE if guests may not upload as many, or if the maker has no room for them
   */
  async extend(bytes: number): Promise<void> {
    await this.#allowances.extend(this, bytes)
  }

  /**
   * The whole file has arrived: it gives way to nothing any more.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE if it gave way
   */
  settle(): void {
    this.signal.throwIfAborted()
    this.#isGrowing = false
  }

  /** Ends the upload for an older one. */
  giveWay(error: unknown): void {
    this.release()
    this.#gaveWay.abort(error)
  }

  /** The upload has ended. If its file is stored, it is counted now, otherwise its part is there for others. A second call does nothing. */
  release(): void {
    this.#allowances.release(this)
    this.room.release()
  }
}

/**
 * Bounds what guests upload by each link. An upload of a known length has its part from its begin on, so of many guests at the limit as many
 * succeed as there is room for, and none is refused at its end. A file of a form has no known length: it grows, and where it lacks bytes, the
 * youngest one that grows beside it gives way. Otherwise many could hold a half each, and none would be stored.
 */
export class Allowances {
  readonly #shares: ShareTable
  readonly #files: Pick<FilesService, 'holdRoom'>
  /** In the order of their begin. */
  readonly #open = new Set<Allowance>()
  /** Files of a maker grow one after the other: what gives way to one is not there for another one. */
  readonly #growing = new KeyedLock()

  constructor(shares: ShareTable, files: Pick<FilesService, 'holdRoom'>) {
    this.#shares = shares
    this.#files = files
  }

  left(id: string): Left {
    const share = this.#shares.get(id)
    const open = this.#of(id)
    const bytes = open.reduce((sum, allowance) => sum + allowance.bytes, 0)
    return {
      files: Math.max(0, (share?.maxFiles ?? 0) - (share?.droppedFiles ?? 0) - open.length),
      bytes: Math.max(0, (share?.maxBytes ?? 0) - (share?.droppedBytes ?? 0) - bytes),
    }
  }

  /**
   * Takes the allowance for one file. It holds no room of the maker yet.
   *
   * @param network that of the guest's address
   * @param bytes of the file; null if its length is not known
   * @throws NodekeepError INSUFFICIENT_STORAGE, TOO_MANY_REQUESTS
   */
  take(share: ShareOfUpload & Pick<Share, 'maxFiles'>, network: string, bytes: number | null): Allowance {
    const open = this.#of(share.id)
    const ofNetwork = open.filter((other) => other.network === network)
    if (ofNetwork.length >= mostOfNetwork || open.length >= mostOfLink)
      throw new NodekeepError('TOO_MANY_REQUESTS', 'Too many uploads by this link have not ended yet.', {
        headers: { 'retry-after': '30' },
      })
    const left = this.left(share.id)
    if (left.files < 1) throw limitReached(`no more than ${share.maxFiles} files`)
    if ((bytes ?? 0) > left.bytes) throw tooManyBytes(left.bytes)
    return this.#add(share, network, bytes)
  }

  /** Takes the allowance of an upload that began before a restart, with the room that it had. */
  resume(share: ShareOfUpload, network: string, bytes: number): Allowance {
    return this.#add(share, network, bytes, bytes)
  }

  /** @see Allowance.extend */
  async extend(allowance: Allowance, bytes: number): Promise<void> {
    const { id, userUuid } = allowance.share
    await this.#growing.run([userUuid], async () => {
      for (;;) {
        allowance.signal.throwIfAborted()
        const left = this.left(id).bytes
        if (bytes > left) {
          this.#makeWay(allowance, tooManyBytes(left))
          continue
        }
        allowance.bytes += bytes
        try {
          await allowance.hold(bytes)
          return
        } catch (error) {
          allowance.bytes -= bytes
          // The end of another upload does not empty a disk at once.
          if (!isOverQuota(error)) throw error
          this.#makeWay(allowance, error)
        }
      }
    })
  }

  release(allowance: Allowance): void {
    this.#open.delete(allowance)
  }

  #add(share: ShareOfUpload, network: string, bytes: number | null, held = 0): Allowance {
    const room = this.#files.holdRoom({ uuid: share.userUuid }, held)
    const allowance = new Allowance(this, share, { network, room, bytes })
    this.#open.add(allowance)
    return allowance
  }

  /**
   * Ends the youngest upload that grows beside another one of its link.
   *
   * @throws the error if there is none that began later
   */
  #makeWay(allowance: Allowance, error: unknown): void {
    const open = [...this.#open]
    const at = open.indexOf(allowance)
    // It may have ended meanwhile.
    const younger = at === -1 ? [] : open.slice(at + 1)
    const last = younger.findLast(
      (other) => other.isGrowing && other.bytes > 0 && other.share.id === allowance.share.id,
    )
    if (last === undefined) throw error
    last.giveWay(error)
  }

  #of(share: string): Allowance[] {
    return [...this.#open].filter((allowance) => allowance.share.id === share)
  }
}

/** The refusal of a file for which a link has not enough bytes left. */
export function tooManyBytes(left: number): NodekeepError {
  return limitReached(left === 0 ? 'no more bytes' : `at most ${left.toLocaleString('en')} more bytes`)
}

function limitReached(what: string): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    `This link takes ${what}. Ask the person who made it for more.`,
  )
}
