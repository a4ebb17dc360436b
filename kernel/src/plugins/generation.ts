import { randomUUID } from 'node:crypto'
import type { StateStore } from '@nodekeep/plugin-sdk'

const stateKey = 'plugins.generations'

interface Generation {
  /** The version that ran last. */
  readonly version: string
  readonly generation: string
}

/**
 * Returns the generation of each plugin: another text if another version ran last. It is stored before any setup, since a setup may
 * change data.
 *
 * @param state the kernel's own state
 * @param versions everything that decides which code of a plugin runs, by the id of the plugin
 */
export async function readGenerations(
  state: StateStore,
  versions: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, Generation>> {
  const generations = new Map(Object.entries((await state.get<Record<string, Generation>>(stateKey)) ?? {}))
  let changed = false
  for (const [id, version] of versions) {
    if (generations.get(id)?.version === version) continue
    generations.set(id, { version, generation: randomUUID() })
    changed = true
  }
  if (changed) await state.set(stateKey, Object.fromEntries(generations))
  return generations
}
