import type { HealthCheck } from '@nodekeep/plugin-sdk'
import type { StateDatabase } from './database.ts'

/** The health check named `database`: "connected" or "unreachable". */
export function databaseHealth(database: StateDatabase): HealthCheck {
  return {
    async check() {
      const ok = await database.isConnected()
      return { ok, state: ok ? 'connected' : 'unreachable' }
    },
  }
}
