import type { OnAccount, RegistryEntries } from './registry.ts'

/** A registry as the kernel reads it. */
export interface KernelReader<T extends object> extends Iterable<readonly [name: string, entry: T]> {
  get(name: string): T | undefined
  names(): string[]
  /** The account on which an entry's methods run, for what else is done on behalf of the plugin that added it. */
  accountOf(name: string): OnAccount
}

/**
 * The live view of a registry for the kernel itself. A method of an entry runs on the account of the plugin that
 * added it, so that what it leaves unhandled is the plugin's fault and not the end of the process.
 */
export function createKernelReader<T extends object>(entries: RegistryEntries): KernelReader<T> {
  const read = (name: string): T | undefined => {
    const entry = entries.get(name)
    return entry === undefined ? undefined : onOwnersAccount(entries.accountOf(name), entry as T)
  }
  return {
    get: read,
    names: () => entries.names(),
    accountOf: (name) => entries.accountOf(name),
    *[Symbol.iterator]() {
      for (const name of entries.names()) {
        const entry = read(name)
        if (entry !== undefined) yield [name, entry] as const
      }
    },
  }
}

function onOwnersAccount<T extends object>(onAccount: OnAccount, entry: T): T {
  // A proxy of the entry itself could not replace the methods of one that is frozen.
  return new Proxy({} as T, {
    get(_target, key) {
      const value: unknown = Reflect.get(entry, key)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => onAccount(() => value.apply(entry, args))
    },
  })
}
