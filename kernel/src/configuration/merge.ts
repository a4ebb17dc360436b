import type { Tree } from './tree.ts'
import { emptyBranch } from './tree.ts'

/** Lays one tree over another: objects merge key by key, everything else is replaced. Neither is changed. */
export function merge(lower: Tree, upper: Tree): Tree {
  if (lower.kind !== 'branch' || upper.kind !== 'branch') return upper
  const entries = new Map(lower.entries)
  for (const [key, value] of upper.entries) {
    const below = entries.get(key)
    entries.set(key, below === undefined ? value : merge(below, value))
  }
  return { kind: 'branch', entries, origin: upper.entries.size > 0 ? upper.origin : lower.origin }
}

/** Lays trees over each other, the later ones on top. */
export function mergeAll(layers: Iterable<Tree>): Tree {
  let result: Tree = emptyBranch
  for (const layer of layers) result = merge(result, layer)
  return result
}
