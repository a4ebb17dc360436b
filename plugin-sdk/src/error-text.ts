import { inspect } from 'node:util'

/**
 * Returns the message of anything that can be thrown. It never throws itself.
 *
 * @returns the name of an error without a message, and a description of anything that has no message
 */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message) || String(thrown.name)
    if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message)
    return typeof thrown === 'object' || typeof thrown === 'function' ? inspect(thrown) : String(thrown)
  } catch {
    return 'a value was thrown that cannot be described'
  }
}
