import type { HealthCheck } from '@nodekeep/plugin-sdk'
import type { Backups } from './backups.ts'
import type { Schedule } from './schedule/schedule.ts'
import type { Targets } from './targets/targets.ts'

/** Scheduled backups are late after this time, in milliseconds. A large one takes hours. */
const patienceMs = 12 * 60 * 60_000

interface HealthParts {
  readonly backups: Pick<Backups, 'last'>
  readonly schedule: Schedule | null
  readonly targets: Pick<Targets, 'areBehind'>
  readonly startedAt: Date
}

/** The health check `backup`: not ok if the last backup failed, if the schedule is late, or if a target lacks backups. */
export function backupHealth({ backups, schedule, targets, startedAt }: HealthParts): HealthCheck {
  return {
    check() {
      const { last } = backups
      if (last?.problem) return { ok: false, state: 'failed' }
      const due = schedule?.after(last === null ? startedAt : new Date(last.at)) ?? null
      if (due !== null && Date.now() - due.getTime() > patienceMs) return { ok: false, state: 'late' }
      if (targets.areBehind) return { ok: false, state: 'incomplete' }
      return { ok: true, state: last === null ? 'none' : 'available' }
    },
  }
}
