import { stdSerializers } from 'pino'
import { messageOf, stackOf, withCauses } from '../errors/thrown.ts'

/**
 * What the log has of something that was thrown. Pino's own serializer marks errors while it walks through them, and so
 * throws at those that are frozen, or whose properties throw. What plugins throw must never break who reports it.
 */
export function serializeError(thrown: unknown): unknown {
  try {
    return stdSerializers.err(thrown as Error)
  } catch {
    const [, ...causes] = withCauses(thrown)
    const stacks = [stackOf(thrown), ...causes.map((cause) => `caused by: ${stackOf(cause)}`)]
    return { type: 'Error', message: messageOf(thrown), stack: stacks.join('\n') }
  }
}
