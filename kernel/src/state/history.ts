/** One step that runs once and is recorded under its id. */
export interface Step {
  readonly id: string
}

/** Why recorded steps and a list of steps don't belong together. */
export class HistoryMismatch extends Error {
  override readonly name = 'HistoryMismatch'
}

/**
 * The steps that are still to be run: those after the recorded ones.
 *
 * @throws HistoryMismatch when the recorded steps are not the beginning of the list
 * @throws TypeError when two steps share an id
 */
export function pendingSteps<S extends Step>(recorded: readonly string[], steps: readonly S[]): S[] {
  const ids = new Set<string>()
  for (const { id } of steps) {
    if (typeof id !== 'string' || id === '')
      throw new TypeError('A migration needs an id, such as "1-notes".')
    if (ids.has(id)) throw new TypeError(`Two migrations have the id "${id}". Give each its own.`)
    ids.add(id)
  }
  for (const [position, id] of recorded.entries()) {
    const expected = steps[position]?.id
    if (expected === id) continue
    throw new HistoryMismatch(
      expected === undefined || !ids.has(id)
        ? `migration "${id}" has run, but this version doesn't know it`
        : `migration "${id}" has run where "${expected}" is expected`,
    )
  }
  return steps.slice(recorded.length)
}
