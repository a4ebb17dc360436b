import type { Log, SessionStore, UserDataHolder } from '@nodekeep/plugin-sdk'
import { callWithSignal } from '../faults/call-with-signal.ts'
import type { GuardedRegistry } from '../faults/guarded-registry.ts'
import { type ErasureParts, eraseDueUsers } from './erasure.ts'

const everyMs = 60 * 60 * 1000

export interface HousekeepingParts extends ErasureParts {
  readonly sessions: SessionStore
  readonly holders: GuardedRegistry<UserDataHolder>
  readonly log: Log
}

/**
 * Removes ended sessions and due users, now and every hour.
 *
 * @returns stops, and waits for what is under way
 */
export function startHousekeeping(parts: HousekeepingParts): () => Promise<void> {
  const abort = new AbortController()
  let running: Promise<void> = Promise.resolve()
  const run = () => {
    running = running.then(() => keepHouse(parts, abort.signal))
  }
  const timer = setInterval(run, everyMs).unref()
  run()
  return async () => {
    clearInterval(timer)
    abort.abort()
    await running
  }
}

async function keepHouse(parts: HousekeepingParts, signal: AbortSignal): Promise<void> {
  try {
    await parts.sessions.sweep(new Date())
    await eraseDueUsers({ ...parts, holders: stoppedOnTheirAccount(parts.holders) }, signal)
  } catch (error) {
    parts.log.error({ err: error }, 'Ended sessions or deleted users could not be removed.')
  }
}

/** The holders, with the end of the housekeeping handed on to each on the account of its plugin. */
function* stoppedOnTheirAccount(
  holders: GuardedRegistry<UserDataHolder>,
): Generator<readonly [name: string, holder: UserDataHolder]> {
  for (const [name, holder] of holders) {
    const erase: UserDataHolder['erase'] = (userUuid, signal) =>
      callWithSignal(holders.contextOf(name), signal, (own) => holder.erase(userUuid, own))
    yield [name, { erase }]
  }
}
