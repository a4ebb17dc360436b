import { createReadStream, existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Log, RestoredEntry } from '@nodekeep/plugin-sdk'
import type { RestoredDate } from '../entries/entry-statements.ts'
import type { Journal } from '../journal/journal.ts'
import type { Mounts } from '../mounts/mounts.ts'

interface RestoredDatesServices {
  readonly mounts: Mounts
  readonly journal: Journal
  readonly log: Pick<Log, 'warn'>
}

/** Lines that the journal takes in one transaction. */
const batchSize = 300

/**
 * Takes the dates of creation of restored files into the journal, since their storage has the dates of the restore. If that
 * fails, the file stays and the next start tries again.
 *
 * @param file the list of entries that a restore leaves; it is deleted
 */
export async function takeRestoredDates(file: string, services: RestoredDatesServices): Promise<void> {
  if (!existsSync(file)) return
  try {
    await readDates(file, services)
    await rm(file)
  } catch (error) {
    services.log.warn(
      { err: error },
      'The dates of creation of restored files could not be read. The next start tries again.',
    )
  }
}

async function readDates(file: string, { mounts, journal, log }: RestoredDatesServices): Promise<void> {
  let dates: RestoredDate[] = []
  let illegible = 0
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const entry = entryIn(line)
    if (entry === null) illegible += 1
    else {
      const { path, ...date } = entry
      const place = mounts.ownerOf(path)
      if (place !== null) dates.push({ ...date, ...place })
    }
    if (dates.length < batchSize) continue
    await journal.restoreCreated(dates)
    dates = []
  }
  if (dates.length > 0) await journal.restoreCreated(dates)
  if (illegible > 0)
    log.warn({ lines: illegible }, 'Some dates of creation in the restored backup are not legible.')
}

/** Returns null for a line that is no entry. */
function entryIn(
  line: string,
): (Pick<RestoredDate, 'size' | 'modified' | 'created'> & { readonly path: string }) | null {
  try {
    const { path, size, modified, created } = JSON.parse(line) as Partial<RestoredEntry>
    const dates = { modified: new Date(modified ?? ''), created: new Date(created ?? '') }
    const isLegible =
      typeof path === 'string' &&
      Number.isSafeInteger(size) &&
      !Number.isNaN(dates.modified.getTime()) &&
      !Number.isNaN(dates.created.getTime())
    return isLegible ? { path, size: size as number, ...dates } : null
  } catch {
    return null
  }
}
