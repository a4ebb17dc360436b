import { createReadStream, existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Log } from '@nodekeep/plugin-sdk'
import type { RestoredKept } from '../entries/entry-statements.ts'
import type { Journal } from '../journal/journal.ts'
import type { Mounts } from '../mounts/mounts.ts'
import { keptIn } from './kept-list.ts'

interface RestoredKeptServices {
  readonly mounts: Mounts
  readonly journal: Pick<Journal, 'restoreKept'>
  readonly log: Pick<Log, 'warn'>
}

/** Lines that the journal takes in one transaction. */
const batchSize = 100

/**
 * Takes the paths and times of restored trash and versions into the index. If that fails, the file stays and the next start tries again.
 *
 * @param file the list in the backup; it is deleted
 */
export async function takeRestoredKept(
  file: string,
  { mounts, journal, log }: RestoredKeptServices,
): Promise<void> {
  if (!existsSync(file)) return
  try {
    let items: RestoredKept[] = []
    for await (const line of createInterface({ input: createReadStream(file) })) {
      const item = keptIn(line, mounts)
      if (item !== null) items.push(item)
      if (items.length < batchSize) continue
      await journal.restoreKept(items)
      items = []
    }
    if (items.length > 0) await journal.restoreKept(items)
    await rm(file)
  } catch (error) {
    log.warn(
      { err: error },
      'The paths of the restored trash and versions could not be read. The next start tries again.',
    )
  }
}
