import { closest, distance } from 'fastest-levenshtein'

/** A sentence that points from a name that is not known to the one that was probably meant. */
export function suggest(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'There are no keys here.'
  const nearest = closest(name, known)
  const tolerable = Math.max(2, Math.floor(name.length / 2))
  if (distance(name, nearest) <= tolerable) return `Did you mean "${nearest}"?`
  return `Known here: ${[...known].sort().join(', ')}.`
}
