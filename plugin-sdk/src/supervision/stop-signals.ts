/**
 * Ctrl+C, a closed terminal and a service manager signal every process of a group, and `npm start` forwards the signal it
 * received. So the same signal shortly after the first is a copy of it.
 */
const echoMs = 300

/** The signals that ask the process to end. */
export interface StopSignals {
  /** Resolves at the first one. A second one ends the process at once. */
  readonly first: Promise<void>
  /** Does what a first signal does. */
  request(): void
  /** Leaves the signals to the system, which ends the process at once. Listeners need an event loop that turns. */
  ignore(): void
  listen(): void
}

/**
 * Listens for the signals that ask the process to end.
 *
 * @param onSecond is called before a second signal ends the process
 */
export function listenForStop(onSecond = () => {}): StopSignals {
  const { promise, resolve } = Promise.withResolvers<void>()
  let first: { readonly signal: string; readonly at: number } | null = null
  const stop = (signal: string) => {
    const isEcho = first?.signal === signal && performance.now() - first.at < echoMs
    if (first !== null && !isEcho) {
      onSecond()
      process.exit(1)
    }
    first ??= { signal, at: performance.now() }
    resolve()
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const listen = () => {
    for (const signal of signals) process.on(signal, stop)
  }
  const ignore = () => {
    for (const signal of signals) process.off(signal, stop)
  }
  listen()
  return { first: promise, request: resolve, ignore, listen }
}
