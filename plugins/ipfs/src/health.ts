import { type HealthCheck, messageOf } from '@nodekeep/plugin-sdk'
import type { LazyStore } from './store/lazy-store.ts'

/** Milliseconds after which a store that could not be opened is tried again: each time it starts a thread. */
const retryMs = 30_000

/** The health check `ipfs`. A store that was never used is available, and is not opened for it. */
export function ipfsHealth(store: LazyStore): HealthCheck {
  let failedAt = Number.NEGATIVE_INFINITY
  let message = ''
  return {
    async check() {
      if (!store.isUsed) return { ok: true, state: 'available' }
      if (performance.now() - failedAt < retryMs) return { ok: false, state: 'unavailable', message }
      try {
        await store.open()
        return { ok: true, state: 'available' }
      } catch (error) {
        failedAt = performance.now()
        message = messageOf(error)
        return { ok: false, state: 'unavailable', message }
      }
    },
  }
}
