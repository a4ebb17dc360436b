import { syncFolder } from '@nodekeep/plugin-sdk/durable-files'

/** Makes the names in folders durable. Calls for a folder that come while one waits share it. */
export class FolderSync {
  readonly #waiting = new Map<string, Promise<void>>()
  readonly #running = new Map<string, Promise<void>>()

  async sync(folder: string): Promise<void> {
    const waiting = this.#waiting.get(folder)
    if (waiting) return waiting
    const next = (this.#running.get(folder) ?? Promise.resolve()).then(async () => {
      this.#waiting.delete(folder)
      this.#running.set(folder, next)
      try {
        await syncFolder(folder)
      } finally {
        if (this.#running.get(folder) === next) this.#running.delete(folder)
      }
    })
    this.#waiting.set(folder, next)
    // A failure of this call must not fail the next one.
    next.catch(() => {})
    return next
  }
}
