import type { StoredBackup } from '../stored/backup-folder.ts'

/** How many backups of each kind stay. */
export interface Keep {
  readonly last?: number
  readonly daily?: number
  readonly weekly?: number
  readonly monthly?: number
}

/**
 * Returns the backups to keep. Each number keeps the newest backup of each of the newest days, weeks or months that have one;
 * `last` keeps the newest ones. The newest one of all always stays.
 *
 * @param backups newest first
 */
export function keptBackups<Backup extends Pick<StoredBackup, 'created'>>(
  backups: readonly Backup[],
  { last = 0, daily = 0, weekly = 0, monthly = 0 }: Keep,
): Set<Backup> {
  const newestOfEach = (period: (date: Date) => string, periods: number) => {
    const newest = new Map<string, Backup>()
    for (const backup of backups) {
      const key = period(backup.created)
      if (!newest.has(key)) newest.set(key, backup)
    }
    return [...newest.values()].slice(0, periods)
  }
  return new Set([
    ...backups.slice(0, Math.max(1, last)),
    ...newestOfEach(day, daily),
    ...newestOfEach(week, weekly),
    ...newestOfEach(month, monthly),
  ])
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10)
}

/** The Monday of the week. */
function week(date: Date): string {
  const monday = new Date(date)
  monday.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
  return day(monday)
}

function month(date: Date): string {
  return date.toISOString().slice(0, 7)
}
