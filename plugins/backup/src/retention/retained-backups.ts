import { mebibytes } from '../create/free-space.ts'
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
 * Backups that are dated after `now` stay, and take no place of another one. If the clock was ahead when they were made, they are
 * older than they say; if it is behind now, the others are.
 *
 * @param backups newest first
 * @param now the present, or the moment of a backup that was just made, which then stays
 */
export function retainedBackups<Backup extends Pick<StoredBackup, 'created'>>(
  backups: readonly Backup[],
  { last = 0, daily = 0, weekly = 0, monthly = 0 }: Keep,
  now: Date,
): Set<Backup> {
  const ahead = backups.filter(({ created }) => created > now)
  const counted = backups.slice(ahead.length)
  const newestOfEach = (period: (date: Date) => string, periods: number) => {
    const newest = new Map<string, Backup>()
    for (const backup of counted) {
      const key = period(backup.created)
      if (!newest.has(key)) newest.set(key, backup)
    }
    return [...newest.values()].slice(0, periods)
  }
  return new Set([
    ...ahead,
    ...counted.slice(0, Math.max(1, last)),
    ...newestOfEach(day, daily),
    ...newestOfEach(week, weekly),
    ...newestOfEach(month, monthly),
  ])
}

/** The size of all backups, and what the next backup leaves of them. */
export interface StoredTotal {
  readonly backups: number
  /** Of all of them together. */
  readonly bytes: number
  /** The names of those that the next backup deletes; null if `backup.keep` is not set, so that all stay. */
  readonly deletedNext: string[] | null
}

/**
 * @param backups newest first
 * @param next the moment of the next backup
 */
export function totalOf(
  backups: readonly Pick<StoredBackup, 'filename' | 'size' | 'created'>[],
  keep: Keep | undefined,
  next: Date,
): StoredTotal {
  const bytes = backups.reduce((sum, { size }) => sum + size, 0)
  const coming = { filename: '', created: next }
  const ahead = backups.filter(({ created }) => created > next)
  const all = [...ahead, coming, ...backups.slice(ahead.length)]
  const kept = keep && retainedBackups(all, keep, next)
  const deletedNext = kept ? all.filter((backup) => !kept.has(backup)).map(({ filename }) => filename) : null
  return { backups: backups.length, bytes, deletedNext }
}

/** Tells people what the backups take and what stays of them. Returns null if there are none. */
export function sentenceOfTotal({ backups, bytes, deletedNext }: StoredTotal): string | null {
  if (backups === 0) return null
  const take = `${backups === 1 ? '1 backup takes' : `${backups} backups take together`} ${mebibytes(bytes)} MiB.`
  if (deletedNext === null) return `${take} All backups stay, because \`backup.keep\` is not set.`
  const { length } = deletedNext
  if (length === 0) return `${take} By \`backup.keep\`, the next backup deletes none of them.`
  return `${take} By \`backup.keep\`, the next backup deletes ${length} of them, and ${backups - length} ${backups - length === 1 ? 'stays' : 'stay'}.`
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
