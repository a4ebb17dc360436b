import type { FileRoom } from '@nodekeep/plugin-sdk'

/** The sums of one user that are not in the journal yet. */
export interface RoomAccount {
  /** Bytes that are held. */
  held: number
  /** Steps after which bytes are no longer held, since the journal has them: meanwhile they may count twice. */
  readonly settling: Set<Promise<void>>
}

/** Room of a user that is held for content before the journal counts it. */
export class HeldRoom implements FileRoom {
  readonly #account: RoomAccount
  readonly #admit: (bytes: number, take: () => void) => Promise<void>
  #held = 0
  /** Bytes of files that take their place in this room, in copies that are not placed yet. */
  #claimed = 0
  #isReleased = false

  /**
   * @param admit calls `take` at the moment at which there is room for bytes
   * @param bytes that are stored already
   */
  constructor(
    account: RoomAccount,
    admit: (bytes: number, take: () => void) => Promise<void>,
    bytes: number,
  ) {
    this.#account = account
    this.#admit = admit
    this.#add(bytes)
  }

  get bytes(): number {
    return this.#held
  }

  async extend(bytes: number): Promise<void> {
    await this.#admit(bytes, () => {
      // The upload may have failed meanwhile.
      if (!this.#isReleased) this.#add(bytes)
    })
  }

  reduce(bytes: number): void {
    this.#add(-Math.min(bytes, this.#held))
  }

  release(): void {
    this.#isReleased = true
    this.#add(-this.#held)
  }

  [Symbol.dispose](): void {
    this.release()
  }

  /** Releases it when the journal has what it was for. */
  releaseAfter(recorded: Promise<unknown>): void {
    this.#settle(
      recorded.catch(() => {}),
      () => this.release(),
    )
  }

  /**
   * Makes sure that a file has its place in the room.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE
   */
  async claim(bytes: number): Promise<void> {
    this.#claimed += bytes
    if (this.#claimed > this.#held) await this.extend(this.#claimed - this.#held)
  }

  /** Records a change that the journal counts from then on. */
  async record<T>(bytes: number, begin: () => Promise<T>): Promise<T> {
    const begun = begin()
    this.#settle(begun, () => {
      this.#claimed -= bytes
      this.reduce(bytes)
    })
    return begun
  }

  #settle(recorded: Promise<unknown>, done: () => void): void {
    const { settling } = this.#account
    const settled = recorded.then(done, () => {}).finally(() => settling.delete(settled))
    settling.add(settled)
  }

  #add(bytes: number): void {
    this.#held += bytes
    this.#account.held += bytes
  }
}
