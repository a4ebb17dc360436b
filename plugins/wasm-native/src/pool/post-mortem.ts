import type { NodekeepError, WasmLimits } from '@nodekeep/plugin-sdk'
import { memoryLimitReached } from './failures.ts'
import type { Sandbox } from './sandbox.ts'

/**
 * Tells whether a sandbox died of what ran in it: V8 ends its process when its heap is full, and says so.
 *
 * @returns null when it died of something else
 */
export function causeOfDeath({ complaint, killedFor }: Sandbox, limits: WasmLimits): NodekeepError | null {
  if (killedFor === null && /out of memory|heap limit/i.test(complaint)) return memoryLimitReached(limits)
  return null
}
