import { NodekeepError, type SupervisorLink, untilAborted } from '@nodekeep/plugin-sdk'
import type { FromSupervisor } from '@nodekeep/plugin-sdk/supervision'
import { toParent } from './parent-process.ts'

/** The supervisor of this process. */
interface ConnectedSupervisor extends SupervisorLink {
  /** Whether no client may reach the node before the supervisor admits it. */
  readonly onTrial: boolean
  /** The milliseconds to wait for requests that run, once the supervisor has asked the node to stop. */
  patienceMs(): number
  /** Aborted when the supervisor asks to stop without such patience. */
  readonly impatient: AbortSignal
}

/**
 * Waits for the first message of the supervisor, and follows the others.
 *
 * @param args the arguments that select the configuration
 * @param stop is called when the supervisor asks the node to stop, and when it is gone: a node that outlives it would keep the next
 *   one from starting
 * @throws Error if the parent is no supervisor; the signal's reason
 */
export async function connectToSupervisor(
  args: readonly string[],
  signal: AbortSignal,
  stop: () => void,
): Promise<ConnectedSupervisor> {
  if (process.send === undefined) {
    throw new Error(
      '"--supervised" is for "nodekeep supervise", which starts the node itself. Run that command.',
    )
  }
  const first = Promise.withResolvers<Extract<FromSupervisor, { nodekeep: 'supervisor' }>>()
  const waiting = new Map<number, PromiseWithResolvers<void>>()
  const impatient = new AbortController()
  let patienceMs = 0
  let lastId = 0
  process.on('disconnect', () => {
    impatient.abort()
    stop()
  })
  process.on('message', (message: FromSupervisor) => {
    switch (message.nodekeep) {
      case 'supervisor':
        return first.resolve(message)
      case 'alive':
        return toParent({ nodekeep: 'alive' })
      case 'stop':
        if (message.patienceMs === 0) impatient.abort()
        patienceMs = message.patienceMs
        return stop()
      case 'answer': {
        const { id, refused } = message
        if (refused === null) waiting.get(id)?.resolve()
        else waiting.get(id)?.reject(new NodekeepError('CONFLICT', refused))
        waiting.delete(id)
      }
    }
  })
  // Nothing else keeps this process alive until the message comes.
  process.channel?.ref()
  const { releases, onTrial } = await untilAborted(first.promise, signal)
  return {
    releases,
    args,
    onTrial,
    patienceMs: () => patienceMs,
    impatient: impatient.signal,
    ask(request) {
      const asked = Promise.withResolvers<void>()
      lastId += 1
      waiting.set(lastId, asked)
      toParent({ ...request, id: lastId })
      return asked.promise
    },
  }
}
