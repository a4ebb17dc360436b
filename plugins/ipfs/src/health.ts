import { type HealthCheck, messageOf } from '@nodekeep/plugin-sdk'
import type { LazyStore } from './store/lazy-store.ts'
import type { Verification } from './verification.ts'

/** Milliseconds after which a store that could not be opened is tried again: each time it starts a thread. */
const retryMs = 30_000

/**
 * The health check `ipfs`: whether the index and the newest pack can be read. A store that was never used is available, and is not opened
 * for it. What the last verification found is a warning.
 *
 * @param command the command line of the plugin, for messages
 */
export function ipfsHealth(store: LazyStore, verification: Verification, command: string): HealthCheck {
  let failedAt = Number.NEGATIVE_INFINITY
  let problem = ''
  return {
    async check() {
      if (!store.isUsed) return { ok: true, state: 'available' }
      if (performance.now() - failedAt < retryMs) return unavailable(problem)
      try {
        const found = await (await store.open()).check()
        if (found !== null) return unavailable(`${found} "${command} verify" names what is damaged.`)
        return await available(verification, command)
      } catch (error) {
        failedAt = performance.now()
        problem = messageOf(error)
        return unavailable(problem)
      }
    },
  }
}

function unavailable(problem: string) {
  return { ok: false, state: 'unavailable', message: problem }
}

async function available(verification: Verification, command: string) {
  const last = await verification.last()
  const finding = { ok: true, state: 'available' }
  if (last === null || last.damagedBlocks === 0) return finding
  const message = `Damaged blocks were found on ${last.at}: ${last.damagedBlocks}. Restore the files that "${command} verify" names, and verify again.`
  return { ...finding, message }
}
