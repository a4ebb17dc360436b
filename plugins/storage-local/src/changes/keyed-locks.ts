/** Lets one at a time do something under a key, in the order of asking. */
export interface KeyedLocks {
  /** Runs with all the keys held. Who holds keys may only ask for further ones of a later kind. */
  hold<T>(keys: readonly string[], run: () => Promise<T>): Promise<T>
}

export function createKeyedLocks(): KeyedLocks {
  const tails = new Map<string, Promise<void>>()

  async function holdOne<T>(key: string, run: () => Promise<T>): Promise<T> {
    const before = tails.get(key)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    tails.set(key, released)
    try {
      await before
      return await run()
    } finally {
      if (tails.get(key) === released) tails.delete(key)
      release()
    }
  }

  return {
    hold(keys, run) {
      const [only, ...others] = keys
      if (only !== undefined && others.length === 0) return holdOne(only, run)
      // Always in the same order, so that two never wait for each other.
      const ordered = [...new Set(keys)].sort()
      return ordered.reduceRight<typeof run>((inner, key) => () => holdOne(key, inner), run)()
    },
  }
}
