import { randomUUID } from 'node:crypto'
import type { StateStore } from '@nodekeep/plugin-sdk'

interface StoredGeneration {
  /** The version that was set up last. */
  readonly version: string
  readonly generation: string
}

/**
 * Returns the generation of a plugin instance: another text if another version was set up last. It is stored before the setup, since
 * the setup may change data.
 *
 * @param state the kernel's own state
 * @param version everything that decides which code runs
 */
export async function generationOf(state: StateStore, id: string, version: string): Promise<string> {
  const key = `generation/${id}`
  const last = await state.get<StoredGeneration>(key)
  if (last?.version === version) return last.generation
  const generation = randomUUID()
  await state.set(key, { version, generation } satisfies StoredGeneration)
  return generation
}
