import { inspect } from 'node:util'

/** The message of anything that can be thrown. It never throws itself. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message) || String(thrown.name)
    if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message)
    return typeof thrown === 'object' || typeof thrown === 'function' ? inspect(thrown) : String(thrown)
  } catch {
    return 'something was thrown that does not say what it is'
  }
}

/** Where anything that was thrown was made; empty when it does not say. It never throws itself. */
export function stackOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.stack) : ''
  } catch {
    return ''
  }
}

const mostBelow = 16

/**
 * What was thrown, and what it says caused it: causes and the members of aggregate errors, each once, the 16 nearest at
 * most. It never throws itself.
 */
export function withCauses(thrown: unknown): unknown[] {
  const found = new Set([thrown])
  for (const error of found) {
    for (const below of directCauses(error)) if (found.size <= mostBelow) found.add(below)
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
