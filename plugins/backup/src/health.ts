import type { HealthCheck } from '@nodekeep/plugin-sdk'
import type { Backups } from './backups.ts'
import type { Drills } from './drill/drills.ts'
import type { Schedule } from './schedule/schedule.ts'
import type { Targets } from './targets/targets.ts'

/** Scheduled backups are late after this time, in milliseconds. A large one takes hours. */
const maxLateMs = 12 * 60 * 60_000

interface HealthServices {
  readonly backups: Pick<Backups, 'last'>
  readonly schedule: Pick<Schedule, 'due'> | null
  readonly targets: Pick<Targets, 'areBehind'>
  readonly drills: Pick<Drills, 'last'>
  /** Tells whether somebody has proved to have the recovery key; null without encryption. */
  readonly isRehearsed: (() => Promise<boolean>) | null
  /** The words that run the commands of backups. */
  readonly command: string
}

const messages = (command: string) => ({
  failed: 'The last backup failed. Read why under "Backups", mend it, and back up again.',
  untrusted: 'The last backup did not pass its trial. Read why under "Backups", and back up again.',
  late: 'The scheduled backup is late. Back up now, and look at the log of the node.',
  incomplete: 'A folder for copies lacks backups. Look under "Backups" for the reason.',
  'no-backup-yet': 'There is no backup yet: what is lost now is lost for good. Back up under "Backups".',
  unrehearsed: `Nobody has proved to have the recovery key. Without it, no backup can be restored: run "${command} rehearse".`,
})

/**
 * The health check `backup`: not ok if the last backup failed or did not pass its drill, if the schedule is late, or if a target
 * lacks backups. It is ok, with a warning, if there is no backup yet, or if nobody has proved to have the recovery key.
 */
export function backupHealth(services: HealthServices): HealthCheck {
  const { backups, schedule, targets, drills, isRehearsed, command } = services
  const told = messages(command)
  const finding = (ok: boolean, state: keyof typeof told) => ({ ok, state, message: told[state] })
  return {
    async check() {
      const { last } = backups
      if (last?.problem) return finding(false, 'failed')
      if (drills.last?.result === 'failed') return finding(false, 'untrusted')
      const due = schedule?.due ?? null
      if (due !== null && Date.now() - due.getTime() > maxLateMs) return finding(false, 'late')
      if (targets.areBehind) return finding(false, 'incomplete')
      if (last === null) return finding(true, 'no-backup-yet')
      if (isRehearsed !== null && !(await isRehearsed())) return finding(true, 'unrehearsed')
      return { ok: true, state: 'available' }
    },
  }
}
