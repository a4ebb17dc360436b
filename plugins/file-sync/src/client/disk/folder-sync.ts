import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

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
        await syncNow(folder)
      } finally {
        if (this.#running.get(folder) === next) this.#running.delete(folder)
      }
    })
    this.#waiting.set(folder, next)
    // A failure of this call is none of the next one.
    next.catch(() => {})
    return next
  }
}

async function syncNow(folder: string): Promise<void> {
  // Windows cannot open a folder to sync it.
  if (process.platform === 'win32') return
  // A named pipe that has taken the place of the folder would wait for a writer.
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
