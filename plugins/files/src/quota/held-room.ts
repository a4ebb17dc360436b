import type { FileRoom } from '@nodekeep/plugin-sdk'

/** The sums of one user that are not in the journal yet. */
export interface RoomAccount {
  /** Bytes that are held. */
  held: number
  /** Bytes of them that are about to be stored: there is room for them, and nothing has to give way any more. */
  secured: number
  /** Steps after which bytes are no longer held, since the journal has them: meanwhile they may count twice. */
  readonly settling: Set<Promise<void>>
}

/** The steps of a room that look at everything that its user takes. */
interface RoomSteps {
  /** Calls `take` at the moment at which there is room for more bytes, beside all that does not give way. */
  admit(bytes: number, take: () => void): Promise<void>
  /**
   * Lets the oldest of what is kept give way, and calls `take` at the moment at which there is room for bytes that are about to be stored.
   *
   * @param check runs before anything gives way. What it rejects with is thrown
   */
  secure(bytes: number, take: () => void, check: () => Promise<void>): Promise<void>
}

/** Room of a user that is held for content before the journal counts it. */
export class HeldRoom implements FileRoom {
  readonly #account: RoomAccount
  readonly #steps: RoomSteps
  #held = 0
  #secured = 0
  /** Bytes of files that take their place in this room, in copies that are not placed yet. */
  #claimed = 0
  #isReleased = false

  /** @param bytes that are stored already */
  constructor(account: RoomAccount, steps: RoomSteps, bytes: number) {
    this.#account = account
    this.#steps = steps
    this.#add(bytes)
  }

  get bytes(): number {
    return this.#held
  }

  async extend(bytes: number): Promise<void> {
    await this.#steps.admit(bytes, () => {
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
    this.unclaim()
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
   * Lets the oldest of what is kept give way to content that is about to be stored. Until then, the room only counts on it: content that is
   * refused or broken off before costs nothing.
   *
   * @param check runs before anything gives way, and rejects if the content would be refused nevertheless
   * @throws NodekeepError INSUFFICIENT_STORAGE
   */
  async secure(bytes: number, check: () => Promise<void> = async () => {}): Promise<void> {
    const take = () => {
      if (!this.#isReleased) this.#addSecured(bytes)
    }
    await this.#steps.secure(bytes, take, check)
  }

  /** Takes back what was secured and claimed for a file that is not stored. */
  unclaim(): void {
    this.#addSecured(-this.#secured)
    this.#claimed = 0
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
      this.#claimed -= Math.min(bytes, this.#claimed)
      this.#addSecured(-Math.min(bytes, this.#secured))
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

  #addSecured(bytes: number): void {
    this.#secured += bytes
    this.#account.secured += bytes
  }
}
