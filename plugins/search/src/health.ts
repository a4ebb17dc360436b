import type { HealthCheck } from '@nodekeep/plugin-sdk'
import type { BackgroundExtraction } from './indexing/background.ts'
import type { Follower } from './indexing/follower.ts'

/** The health check `search`: whether new files, and their words, can be added. */
export function searchHealth(
  follower: Pick<Follower, 'problem'>,
  background: Pick<BackgroundExtraction, 'problem'>,
): HealthCheck {
  return {
    check() {
      if (follower.problem !== null) return unavailable(`New files cannot be found now: ${follower.problem}`)
      if (background.problem !== null)
        return unavailable(`The words of new files cannot be found now: ${background.problem}`)
      return { ok: true, state: 'available' }
    },
  }
}

function unavailable(problem: string) {
  return { ok: false, state: 'unavailable', message: `${problem} It is tried again within minutes.` }
}
