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
}

/**
 * The health check `backup`: not ok if the last backup failed or did not pass its drill, if the schedule is late, or if a target
 * lacks backups. It is ok, and says so, if nobody has proved to have the recovery key.
 */
export function backupHealth(services: HealthServices): HealthCheck {
  const { backups, schedule, targets, drills, isRehearsed } = services
  return {
    async check() {
      const { last } = backups
      if (last?.problem) return { ok: false, state: 'failed' }
      if (drills.last?.result === 'failed') return { ok: false, state: 'untrusted' }
      const due = schedule?.due ?? null
      if (due !== null && Date.now() - due.getTime() > maxLateMs) return { ok: false, state: 'late' }
      if (targets.areBehind) return { ok: false, state: 'incomplete' }
      if (last === null) return { ok: true, state: 'no-backup-yet' }
      if (isRehearsed !== null && !(await isRehearsed())) return { ok: true, state: 'unrehearsed' }
      return { ok: true, state: 'available' }
    },
  }
}
