import type { HealthCheck } from '@nodekeep/plugin-sdk'
import type { BackgroundExtraction } from './indexing/background.ts'

/** The health check `search`: whether the words of new files can be added. */
export function searchHealth(background: Pick<BackgroundExtraction, 'problem'>): HealthCheck {
  return {
    check() {
      const { problem } = background
      if (problem === null) return { ok: true, state: 'available' }
      return {
        ok: false,
        state: 'unavailable',
        message: `The words of new files cannot be found now: ${problem} It is tried again every minute.`,
      }
    },
  }
}
