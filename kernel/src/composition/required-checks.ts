import type { Log } from '@nodekeep/plugin-sdk'
import { suggest } from '../configuration/suggestion.ts'

/**
 * Logs every name of `health.required` that no check has: the node counts as down for it, and its health report
 * cannot say why to who runs it.
 *
 * @param known the names of all checks, once the plugins are up
 */
export function logUnknownChecks(log: Log, required: readonly string[], known: readonly string[]): void {
  for (const name of required) {
    if (known.includes(name)) continue
    log.error(
      { check: name, known },
      `"health.required" names the check "${name}", which nothing here makes, so /health answers 503. ${suggest(name, known)}`,
    )
  }
}
