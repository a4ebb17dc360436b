/** Lets changes go on side by side, except while something needs the tree to stand still. */
export interface ChangeGate {
  /** Runs a change; waits while the tree stands still. */
  change<T>(run: () => Promise<T>): Promise<T>
  /** Runs when the changes under way have ended, and lets none begin meanwhile. */
  still<T>(run: () => Promise<T>): Promise<T>
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

export function createChangeGate(): ChangeGate {
  const running = new Set<Promise<unknown>>()
  let stillness: Promise<unknown> | null = null

  function tracked<T>(run: () => Promise<T>): Promise<T> {
    const change = run().finally(() => running.delete(change))
    running.add(change)
    return change
  }

  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.allSettled(running)
  }

  return {
    async change(run) {
      while (stillness !== null) await stillness
      return tracked(run)
    },
    async still(run) {
      while (stillness !== null) await stillness
      const done = Promise.withResolvers<void>()
      stillness = done.promise
      try {
        await idle()
        return await run()
      } finally {
        stillness = null
        done.resolve()
      }
    },
    async idle() {
      while (stillness !== null || running.size > 0) {
        await stillness
        await idle()
      }
    },
  }
}
