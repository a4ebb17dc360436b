import type { HaltedSnapshot, PreparedSnapshot } from '../contracts/prepared-snapshot.ts'

/**
 * Brings changes of several parts to a halt: of the first one, then of the second one, and so on. When all stand still, `fix` fixes
 * the states of all, and the disposal lets changes go on everywhere. Changes wait for the sum of what the halts need, so prepare all
 * snapshots before. Releasing the prepared snapshots stays with the caller.
 *
 * @param prepared in the order in which they come to a halt, and in which their states are fixed; they go on in the reverse order
 * @returns the halt of all, whose `fix` returns the snapshots in the same order; if one fails, none is taken
 * @throws the error of the halt that failed. Nothing stands still then; the disposal of the others has ended
 */
export async function haltTogether<T extends { release(): Promise<void> }>(
  prepared: readonly PreparedSnapshot<T>[],
): Promise<HaltedSnapshot<T[]>> {
  const halted: HaltedSnapshot<T>[] = []
  const goOn = async () => {
    const ending = halted.splice(0).reverse()
    const outcomes = await Promise.allSettled(ending.map(async (each) => each[Symbol.asyncDispose]()))
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }
  try {
    for (const each of prepared) halted.push(await each.halt())
  } catch (error) {
    await goOn().catch(() => {})
    throw error
  }
  return {
    async fix() {
      const fixed: T[] = []
      try {
        for (const each of halted) fixed.push(await each.fix())
        return fixed
      } catch (error) {
        await Promise.allSettled(fixed.map(async (snapshot) => snapshot.release()))
        throw error
      }
    },
    [Symbol.asyncDispose]: goOn,
  }
}
