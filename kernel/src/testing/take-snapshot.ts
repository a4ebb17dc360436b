import type { PreparedSnapshot } from '@nodekeep/plugin-sdk'

/**
 * Takes a prepared snapshot, as a backup does.
 *
 * @param whileHalted called while changes stand still, before the state is fixed; if it rejects, no snapshot is taken
 */
export async function takeSnapshot<T>(
  prepared: PreparedSnapshot<T> | undefined,
  whileHalted: () => Promise<void> = async () => {},
): Promise<T> {
  if (prepared === undefined) throw new Error('It cannot make snapshots.')
  try {
    await using halted = await prepared.halt()
    await whileHalted()
    return await halted.fix()
  } finally {
    await prepared.release()
  }
}
