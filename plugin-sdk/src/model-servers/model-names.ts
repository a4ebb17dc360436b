/** Limits of a list. Longer names are not names of models, and no provider has more models. */
const maxNameLength = 512
const maxModels = 10_000

/**
 * Makes the answer of `AiProvider.models` from the names that a server sent. Values that are no names are left out: other
 * types, empty texts, repeated names, and names of more than 512 characters. At most 10,000 names are returned.
 *
 * @example return modelNames(answer.data.map(({ id }) => id))
 */
export function modelNames(sent: Iterable<unknown>): string[] {
  const names = new Set<string>()
  for (const name of sent) {
    if (names.size >= maxModels) break
    if (typeof name === 'string' && name !== '' && name.length <= maxNameLength) names.add(name)
  }
  return [...names]
}
