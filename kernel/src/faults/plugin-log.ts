import { isNodekeepError, type Log } from '@nodekeep/plugin-sdk'
import type { Logger } from 'pino'
import { originOf } from './fault-context.ts'

/**
 * Creates the log of a plugin. A line about an error of another plugin's code, such as of a service or an entry, names that
 * plugin as `origin`.
 */
export function createPluginLog(log: Logger, plugin: string): Log {
  const owner = { id: plugin, faulted() {} }
  const withOrigin = (fields: { readonly err?: unknown }) => {
    if (fields.err === undefined) return fields
    const origin = originOf(causeOf(fields.err), owner)
    return origin === undefined || origin.id === plugin ? fields : { ...fields, origin: origin.id }
  }
  return log.child({ plugin }, { formatters: { log: withOrigin } })
}

/** A NodekeepError may carry the failure that it stands for, as that of a storage driver. */
function causeOf(thrown: unknown): unknown {
  const cause = isNodekeepError(thrown) ? (thrown as Error).cause : undefined
  return cause === undefined ? thrown : causeOf(cause)
}
