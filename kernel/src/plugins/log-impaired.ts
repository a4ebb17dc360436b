import type { Log } from '@nodekeep/plugin-sdk'
import type { PluginRecord } from './plugin-record.ts'

/** Logs why plugins are not up, with what they threw. */
export function logImpaired(log: Log, records: readonly PluginRecord[]): void {
  for (const { id, state, phase, reason, failure } of records) {
    const err = failure?.cause ?? undefined
    log.error({ plugin: id, state, phase, err }, `The plugin "${id}" is ${state}: ${reason}`)
  }
}
