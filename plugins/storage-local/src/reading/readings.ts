import { NodekeepError } from '@nodekeep/plugin-sdk'

/** The readings of a backend that have a file open, so that its close can end them. */
export interface Readings {
  /** Registers how a reading is ended early; the answer takes it out again. */
  add(end: (reason: unknown) => Promise<void>): () => void
  /** Ends all of them: those who read get SERVICE_UNAVAILABLE. */
  end(): Promise<void>
}

export function createReadings(): Readings {
  const open = new Set<(reason: unknown) => Promise<void>>()
  return {
    add(end) {
      open.add(end)
      return () => open.delete(end)
    },
    async end() {
      await Promise.all([...open].map((end) => end(closed())))
    },
  }
}

/** The error of every call after a close. */
export function closed(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The storage is closed. Start it again to use it.')
}
