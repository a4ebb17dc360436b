import type { FaultContext } from './fault-context.ts'

/** The entries of a registry, each with the fault context of the plugin that added it. */
interface OwnedEntries {
  get(name: string): unknown
  names(): string[]
  contextOf(name: string): FaultContext
}

/** A registry as the kernel reads it. */
export interface GuardedRegistry<T extends object> extends Iterable<readonly [name: string, entry: T]> {
  get(name: string): T | undefined
  names(): string[]
  /** The fault context in which an entry's methods run, for further work on behalf of the plugin that added it. */
  contextOf(name: string): FaultContext
}

/**
 * Creates the live view of a registry for the kernel itself. A method of an entry runs in the fault context of the
 * plugin that added the entry: an error that it leaves unhandled is blamed on that plugin and does not end the
 * process.
 */
export function guardRegistry<T extends object>(entries: OwnedEntries): GuardedRegistry<T> {
  const read = (name: string): T | undefined => {
    const entry = entries.get(name)
    return entry === undefined ? undefined : guard(entries.contextOf(name), entry as T)
  }
  return {
    get: read,
    names: () => entries.names(),
    contextOf: (name) => entries.contextOf(name),
    *[Symbol.iterator]() {
      for (const name of entries.names()) {
        const entry = read(name)
        if (entry !== undefined) yield [name, entry] as const
      }
    },
  }
}

function guard<T extends object>(context: FaultContext, entry: T): T {
  // A proxy with the entry as its target could not replace the methods of a frozen entry.
  return new Proxy({} as T, {
    get(_target, key) {
      const value: unknown = Reflect.get(entry, key)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => context(() => value.apply(entry, args))
    },
  })
}

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
