import { inspect } from 'node:util'

/** Returns the message of anything that can be thrown. It never throws itself. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message) || String(thrown.name)
    if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message)
    return typeof thrown === 'object' || typeof thrown === 'function' ? inspect(thrown) : String(thrown)
  } catch {
    return 'a value was thrown that cannot be described'
  }
}

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
