import type { WriteRequest } from './protocol.ts'

/** Ends wait so long at most for a request to go along with, in milliseconds. */
const holdMs = 4

/**
 * The ends of changes on their way to the writer. Who makes a change need not wait for its end, which a crash may take
 * anyway: the storage tells it again. So ends go along with the next intent, and only readers wait for them.
 */
export class Ends {
  readonly #call: (request: WriteRequest) => Promise<unknown>
  readonly #users = new Map<string, Set<Promise<void>>>()
  #held: (() => void)[] = []
  #timer: NodeJS.Timeout | null = null

  /** @param call asks the writer */
  constructor(call: (request: WriteRequest) => Promise<unknown>) {
    this.#call = call
  }

  /** Resolves when the end can be read. */
  add(userUuid: string, seq: number, outcome: 'commit' | 'discard'): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const open = this.#users.get(userUuid) ?? new Set()
    this.#users.set(userUuid, open)
    const close = () => {
      open.delete(promise)
      if (open.size === 0) this.#users.delete(userUuid)
    }
    open.add(promise)
    this.#held.push(() => {
      this.#call({ kind: 'resolve', seq, outcome })
        .finally(close)
        .then(() => resolve(), reject)
    })
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      this.send()
    }, holdMs)
    return promise
  }

  /** Sends what is held. What is called in the same moment goes with it. */
  send(): void {
    const held = this.#held
    this.#held = []
    for (const send of held) send()
  }

  /** Waits until all ends of a user can be read that were added before; null when there are none. */
  readable(userUuid: string): Promise<unknown> | null {
    const open = this.#users.get(userUuid)
    if (open === undefined) return null
    this.send()
    return Promise.allSettled(open)
  }
}
