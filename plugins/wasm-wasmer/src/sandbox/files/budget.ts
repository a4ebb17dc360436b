import type { SandboxLimits } from '../../protocol/messages.ts'
import { Refusal } from '../refusal.ts'

/** Counts the bytes and entries that are left for files in folders. */
export class Budget {
  readonly #limits: SandboxLimits
  readonly #full: (reason: Refusal) => void
  #bytes: number
  #entries: number

  /** @param full hears when a program exceeds a limit, which ends the program */
  constructor(limits: SandboxLimits, full: (reason: Refusal) => void) {
    this.#limits = limits
    this.#full = full
    this.#bytes = limits.folderBytes
    this.#entries = limits.folderEntries
  }

  /** @throws Refusal */
  takeBytes(count: number): void {
    if (count > this.#bytes) {
      const mebibytes = Math.floor(this.#limits.folderBytes / 2 ** 20)
      this.#refuse(`The limit of ${mebibytes} MiB for the files in folders was reached.`)
    }
    this.#bytes -= count
  }

  /** @throws Refusal */
  takeEntry(): void {
    if (this.#entries === 0) {
      this.#refuse(`The limit of ${this.#limits.folderEntries} files and folders in folders was reached.`)
    }
    this.#entries -= 1
  }

  giveBytes(count: number): void {
    this.#bytes += count
  }

  giveEntry(): void {
    this.#entries += 1
  }

  #refuse(message: string): never {
    const reason = new Refusal('UNPROCESSABLE', message)
    this.#full(reason)
    throw reason
  }
}
