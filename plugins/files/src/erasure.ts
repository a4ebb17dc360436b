import { isNodekeepError } from '@nodekeep/plugin-sdk'
import type { Journal } from './journal/journal.ts'
import type { Mounts } from './mounts/mounts.ts'

export interface ErasureParts {
  readonly mounts: Mounts
  readonly journal: Journal
  readonly signal: AbortSignal
}

/** Removes a user's files from every mount, then what the journal knows of them. */
export async function eraseFiles(userUuid: string, { mounts, journal, signal }: ErasureParts): Promise<void> {
  for (const [point] of mounts.all) {
    signal.throwIfAborted()
    const { backend, backendPath } = mounts.place(userUuid, point)
    await backend.remove(backendPath).catch((error) => {
      if (!isNodekeepError(error) || error.code !== 'NOT_FOUND') throw error
    })
  }
  await journal.erase(userUuid)
}
