import { NodekeepError } from '@nodekeep/plugin-sdk'

/** Bytes of memory that an entry takes until its archive ends, apart from its name: the index is at the end of an archive. */
const entryBytes = 500

/**
 * Times of `stalledMs` for which an archive waits: two rounds of others can be broken off before. It is less than the minute after which
 * many proxies end a silent request.
 */
const waitFactor = 2.5

/** Bounds of {@link ArchiveMemory}. */
export interface ArchiveMemoryOptions {
  /** Bytes of all archives at a time, apart from small ones. */
  readonly most?: number
  /** Bytes of a small archive. */
  readonly small?: number
  /** Milliseconds after which a client that takes nothing gives way to others. */
  readonly stalledMs?: number
}

/** An archive that needs memory. */
interface ArchiveNeed {
  readonly user: string
  /** Bytes of all its entries. */
  readonly bytes: number
  /** Aborts when the archive has ended, or nobody waits for it any more. */
  readonly signal: AbortSignal
  /** Ends the archive, because its client takes nothing. */
  breakOff(): void
}

/** The memory of one archive. */
export interface ArchiveShare {
  readonly need: ArchiveNeed
  /** Bytes that were reserved. */
  reserved: number
  /** Bytes of the entries so far. */
  used: number
  /** The time since which the client has not taken what is ready for it, by `performance.now`. */
  untakenSince: number | null
}

interface Waiting {
  readonly share: ArchiveShare
  readonly until: number
  grant(): void
  refuse(error: NodekeepError): void
}

/** Returns the bytes of memory that an entry takes until its archive ends. */
export function bytesOfEntry(name: string): number {
  return entryBytes + Buffer.byteLength(name)
}

/**
 * Bounds the memory of all archives that are being sent. An archive begins when there is memory for all of its entries, so none that has
 * begun waits for another one. While one waits, those are broken off whose clients take nothing, first those that have taken nothing for
 * the longest time. The next one to begin is of the user who holds least.
 */
export class ArchiveMemory {
  readonly #most: number
  readonly #small: number
  readonly #stalledMs: number
  readonly #running = new Set<ArchiveShare>()
  #waiting: readonly Waiting[] = []
  #sweep: NodeJS.Timeout | undefined

  constructor({
    most = 64 * 1024 * 1024,
    small = 128 * 1024,
    stalledMs = 20_000,
  }: ArchiveMemoryOptions = {}) {
    this.#most = most
    this.#small = small
    this.#stalledMs = stalledMs
  }

  /**
   * Reserves memory for an archive, until its signal aborts. Resolves when there is some.
   *
   * @throws NodekeepError PAYLOAD_TOO_LARGE; TOO_MANY_REQUESTS after {@link waitFactor} times the time for which a client may take nothing
   */
  async take(need: ArchiveNeed): Promise<ArchiveShare> {
    const { bytes, signal } = need
    if (bytes > this.#most) {
      throw new NodekeepError(
        'PAYLOAD_TOO_LARGE',
        'The names of these files and folders are too long for one archive. Download the folders one by one.',
      )
    }
    const share: ArchiveShare = { need, reserved: bytes, used: 0, untakenSince: null }
    const { promise, resolve: grant, reject: refuse } = Promise.withResolvers<void>()
    const until = performance.now() + waitFactor * this.#stalledMs
    this.#waiting = [...this.#waiting, { share, until, grant, refuse }]
    signal.addEventListener('abort', () => this.#end(share), { once: true })
    if (signal.aborted) this.#end(share)
    this.#serve()
    await promise
    return share
  }

  /**
   * Counts the next entry of an archive.
   *
   * @throws NodekeepError PAYLOAD_TOO_LARGE if more entries came meanwhile than there is memory for
   */
  add(share: ArchiveShare, name: string): void {
    share.used += bytesOfEntry(name)
    if (share.used <= share.reserved) return
    const more = this.#counted(share.used) - this.#counted(share.reserved)
    if (more > this.#free())
      throw new NodekeepError('PAYLOAD_TOO_LARGE', 'The folder has grown too much meanwhile.')
    share.reserved = share.used
  }

  #end(share: ArchiveShare): void {
    this.#refuse((waiting) => waiting.share === share)
    if (this.#running.delete(share)) this.#serve()
  }

  #serve(): void {
    const now = performance.now()
    while (this.#grantNext(now));
    this.#refuse(({ until }) => until <= now)
    if (this.#waiting.length > 0)
      this.#sweep ??= setInterval(() => this.#serve(), this.#stalledMs / 20).unref()
    else {
      clearInterval(this.#sweep)
      this.#sweep = undefined
    }
  }

  /** Returns whether an archive was granted its memory. */
  #grantNext(now: number): boolean {
    const stalled = this.#stalled(now)
    const heldBy = Map.groupBy(this.#running, ({ need }) => need.user)
    const held = ({ share }: Waiting) => this.#sum(heldBy.get(share.need.user) ?? [])
    for (const waiting of this.#waiting.toSorted((one, other) => held(one) - held(other))) {
      const broken: ArchiveShare[] = []
      let missing = this.#counted(waiting.share.reserved) - this.#free()
      for (const share of stalled) {
        if (missing <= 0) break
        broken.push(share)
        missing -= share.reserved
      }
      if (missing > 0) continue
      for (const share of broken) {
        this.#running.delete(share)
        share.need.breakOff()
      }
      this.#waiting = this.#waiting.filter((other) => other !== waiting)
      this.#running.add(waiting.share)
      waiting.grant()
      return true
    }
    return false
  }

  /** Archives whose clients take nothing, first those that have taken nothing for the longest time. */
  #stalled(now: number): readonly ArchiveShare[] {
    const since = ({ untakenSince }: ArchiveShare) => untakenSince ?? Number.POSITIVE_INFINITY
    return [...this.#running]
      .filter((share) => now - since(share) >= this.#stalledMs && this.#counted(share.reserved) > 0)
      .sort((one, other) => since(one) - since(other))
  }

  #refuse(isRefused: (waiting: Waiting) => boolean): void {
    for (const waiting of this.#waiting.filter(isRefused)) {
      const message =
        'The node makes archives of too many files and folders already. Wait until one of them has ended.'
      waiting.refuse(new NodekeepError('TOO_MANY_REQUESTS', message, { headers: { 'retry-after': '10' } }))
    }
    this.#waiting = this.#waiting.filter((waiting) => !isRefused(waiting))
  }

  #free(): number {
    return this.#most - this.#sum(this.#running)
  }

  #sum(shares: Iterable<ArchiveShare>): number {
    return Iterator.from(shares).reduce((sum, { reserved }) => sum + this.#counted(reserved), 0)
  }

  #counted(bytes: number): number {
    return bytes > this.#small ? bytes : 0
  }
}
