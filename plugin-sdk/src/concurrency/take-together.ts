import type { PreparedSnapshot } from '../contracts/prepared-snapshot.ts'

/**
 * Takes snapshots at one moment: the first one brings its changes to a halt, then the second one, and so on. When all stand
 * still, `atMoment` is called, and then changes go on everywhere. Changes wait for the sum of what the snapshots need for their
 * moment, so prepare all of them before.
 *
 * If one fails, those that were taken are released. Releasing the prepared snapshots stays with the caller.
 *
 * @param prepared in the order in which they come to a halt
 * @returns the snapshots, in the same order
 * @throws the error of the snapshot that failed, or of `atMoment`
 */
export async function takeTogether<T extends { release(): Promise<void> }>(
  prepared: readonly PreparedSnapshot<T>[],
  atMoment: () => Promise<void> = async () => {},
): Promise<T[]> {
  const taken: T[] = []
  const takeFrom = async (index: number): Promise<void> => {
    const next = prepared[index]
    if (next === undefined) return atMoment()
    taken[index] = await next.take(() => takeFrom(index + 1))
  }
  try {
    await takeFrom(0)
    return taken
  } catch (error) {
    await Promise.allSettled(Object.values(taken).map((snapshot) => snapshot.release()))
    throw error
  }
}
