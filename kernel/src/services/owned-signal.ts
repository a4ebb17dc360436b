import type { OnAccount } from './registry.ts'

/**
 * Calls code of a plugin with a signal of its own. It is aborted with the given one, but on the plugin's account: what a
 * listener throws then is the plugin's fault and not the end of the process. Nothing is aborted once the call is over.
 *
 * @param signal aborted when nobody waits for the call any more
 * @throws the reason of the signal when it is aborted already; otherwise what the call throws
 */
export async function callWithSignal<T>(
  onAccount: OnAccount,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T> | T,
): Promise<T> {
  signal.throwIfAborted()
  const own = new AbortController()
  const abort = () => onAccount(() => own.abort(signal.reason))
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await call(own.signal)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
