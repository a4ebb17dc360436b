/** Returns the stack of anything that was thrown, or an empty text. It never throws itself. */
export function stackOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.stack) : ''
  } catch {
    return ''
  }
}

const mostCauses = 16

/**
 * Returns a thrown value and its causes: the `cause` of each error and the members of aggregate errors, each once,
 * and at most the 16 nearest. It never throws itself.
 */
export function withCauses(thrown: unknown): unknown[] {
  const found = new Set([thrown])
  for (const error of found) {
    for (const below of directCauses(error)) if (found.size <= mostCauses) found.add(below)
  }
  return [...found]
}

function directCauses(thrown: unknown): unknown[] {
  try {
    if (!(thrown instanceof Error)) return []
    const members: unknown[] = thrown instanceof AggregateError ? [...thrown.errors] : []
    return [thrown.cause, ...members].filter((cause) => cause instanceof Error)
  } catch {
    return []
  }
}
