import { closest, distance } from 'fastest-levenshtein'

/** Longer names get no "Did you mean": a client may send a key of any length. */
const longestCompared = 100

/** Writes a sentence that suggests the nearest known name for an unknown one, or lists the known names. */
export function suggest(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'There are no keys here.'
  if (name.length <= longestCompared) {
    const nearest = closest(name, known)
    const tolerable = Math.max(2, Math.floor(name.length / 2))
    if (distance(name, nearest) <= tolerable) return `Did you mean "${nearest}"?`
  }
  return `Known here: ${[...known].sort().join(', ')}.`
}
