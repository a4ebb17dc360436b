/** Files of one user that are copied at a time. Within a folder, they share the syncs of the folder and of the journal. */
const slotsPerUser = 8

interface UserSlots {
  free: number
  readonly waiting: (() => void)[]
}

/**
 * Bounds the files that are copied at a time for each user. A short request can copy any number of bytes, so without a bound
 * one user could take the whole node.
 */
export class CopySlots {
  readonly #users = new Map<string, UserSlots>()

  /** Runs the copy of one file, after those of the user that asked before. */
  async run<T>(userUuid: string, copyFile: () => Promise<T>): Promise<T> {
    const slots = this.#users.get(userUuid) ?? { free: slotsPerUser, waiting: [] }
    this.#users.set(userUuid, slots)
    if (slots.free > 0) slots.free -= 1
    else await new Promise<void>((resolve) => void slots.waiting.push(resolve))
    try {
      return await copyFile()
    } finally {
      const next = slots.waiting.shift()
      if (next !== undefined) next()
      else {
        slots.free += 1
        if (slots.free === slotsPerUser) this.#users.delete(userUuid)
      }
    }
  }
}
