import type { HealthCheck } from '@nodekeep/plugin-sdk'
import type { Mounts } from './mounts/mounts.ts'

/** Whether every mount is in reach. */
export function storageHealth(mounts: Mounts): HealthCheck {
  return {
    async check(signal) {
      const probes = [...mounts.all].map(async ([point, name]) => mounts.backend(point, name).probe(signal))
      const outcomes = await Promise.allSettled(probes)
      const ok = outcomes.every(({ status }) => status === 'fulfilled')
      return { ok, state: ok ? 'available' : 'unreachable' }
    },
  }
}
