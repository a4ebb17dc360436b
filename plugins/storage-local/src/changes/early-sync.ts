import type { Disk } from '../disk/disk.ts'

/** After so many bytes more the disk is told to begin with them, in bytes. */
const portion = 64 * 1024 * 1024

/** One at a time in the process: a sync takes long, and others need its thread. */
let busy = false

/**
 * Lets the disk store the beginning of a large file while the rest arrives. The system would wait for the sync at the
 * end, and a large upload with it for as long again as it took to receive.
 */
export interface EarlySync {
  /** Says how much is written by now. */
  written(bytes: number): void
  /** Waits for the end; fails with what a sync failed with, since a later one may not tell it again. */
  end(): Promise<void>
}

export function createEarlySync(disk: Disk, fd: number): EarlySync {
  let synced = 0
  let running: Promise<void> | null = null
  let failure: { readonly reason: unknown } | null = null

  async function sync(): Promise<void> {
    busy = true
    try {
      await disk.fdatasync(fd)
    } catch (reason) {
      failure ??= { reason }
    } finally {
      busy = false
      running = null
    }
  }

  return {
    written(bytes) {
      if (busy || bytes - synced < portion) return
      synced = bytes
      running = sync()
    },
    async end() {
      await running
      if (failure !== null) throw failure.reason
    },
  }
}
