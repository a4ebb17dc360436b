import { conflict, KeyedLock } from '@nodekeep/plugin-sdk'

/**
 * One request at a time uses an upload. A client that comes back by another network does not know that its former connection is gone, so
 * the newest request has its turn, and those before it stop to receive bytes.
 */
export class Turns {
  readonly #lock = new KeyedLock()
  // No `Map`: MEMORY.md, "Tables".
  readonly #newest: Record<string, AbortController> = Object.create(null)

  /** @param work gets a signal that aborts when a newer request needs the upload */
  async run<T>(userUuid: string, id: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const key = keyOf(userUuid, id)
    const turn = new AbortController()
    this.#newest[key]?.abort(conflict('A newer request goes on with this upload.'))
    this.#newest[key] = turn
    try {
      return await this.#lock.run([key], () => work(turn.signal))
    } finally {
      if (this.#newest[key] === turn) delete this.#newest[key]
    }
  }

  isInUse(userUuid: string, id: string): boolean {
    return keyOf(userUuid, id) in this.#newest
  }

  /** Stops to receive bytes: those of a user, or all. Resolves when all requests have ended their turns. */
  async stop(reason: unknown, userUuid = ''): Promise<void> {
    const keys = Object.keys(this.#newest).filter((key) => key.startsWith(userUuid))
    for (const key of keys) this.#newest[key]?.abort(reason)
    await this.#lock.run(keys, async () => {})
  }
}

function keyOf(userUuid: string, id: string): string {
  return `${userUuid}/${id}`
}
