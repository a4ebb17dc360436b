import type { FaultContext } from './fault-context.ts'

/**
 * Calls code of a plugin with an abort signal of its own. The signal follows the given one, but aborts in the plugin's
 * fault context: an exception of a listener is blamed on the plugin and does not end the process. After the call, the
 * signal no longer aborts.
 *
 * @param signal aborts when nobody waits for the call any more
 * @throws the reason of the signal when it is aborted already; otherwise the error of the call
 */
export async function callWithSignal<T>(
  context: FaultContext,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  signal.throwIfAborted()
  const own = new AbortController()
  const abort = () => context(() => own.abort(signal.reason))
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await call(own.signal)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
