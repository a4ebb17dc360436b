/** A signal that aborts with others. */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal
}

/**
 * Returns a signal that aborts with the first of others, with its reason, until it is disposed. It is not `AbortSignal.any`: MEMORY.md,
 * "Signals".
 */
export function linkSignals(...others: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController()
  const abort = () => controller.abort(others.find(({ aborted }) => aborted)?.reason)
  for (const other of others) other.addEventListener('abort', abort, { once: true })
  if (others.some(({ aborted }) => aborted)) abort()
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const other of others) other.removeEventListener('abort', abort)
    },
  }
}
