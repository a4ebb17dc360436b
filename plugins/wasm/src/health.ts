import type { HealthCheck } from '@nodekeep/plugin-sdk'
import type { Runtimes } from './runtimes.ts'

/** Whether there is anything to run WebAssembly with. */
export function wasmHealth(runtimes: Runtimes): HealthCheck {
  return {
    check: () => (runtimes.isEmpty ? { ok: false, state: 'unavailable' } : { ok: true, state: 'available' }),
  }
}
