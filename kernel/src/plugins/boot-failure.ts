import type { PluginRecord } from './plugin-record.ts'

/**
 * Thrown when the node does not start because required plugins are not up. The message lists all of them; the cause is
 * what they threw.
 */
export class BootFailure extends Error {
  readonly plugins: readonly PluginRecord[]
  /** The message without advice, in one sentence. */
  readonly summary: string

  constructor(plugins: readonly PluginRecord[]) {
    const [first] = plugins
    const count = plugins.length === 1 ? 'a required plugin is' : `${plugins.length} required plugins are`
    const beginning = `The node cannot start, since ${count} not up:`
    const states = plugins.map(stateOf)
    const hint = `Add --verbose to see the stack traces. To start without it, set "plugins": { "${first?.id}": { "required": false } }, or false to switch it off.`
    super([beginning, ...states, hint].join('\n  '), { cause: causeOf(plugins) })
    this.name = 'BootFailure'
    this.plugins = plugins
    this.summary = `${beginning} ${states.join(' ')}`
  }
}

function causeOf(plugins: readonly PluginRecord[]): unknown {
  const failures = plugins.flatMap(({ failure }) => (failure === null ? [] : [failure]))
  return failures.length > 1 ? new AggregateError(failures, 'Several plugins failed.') : failures[0]
}

function stateOf({ id, state, phase, reason, entry }: PluginRecord): string {
  const status = phase === null ? state : `${state} (${phase})`
  // Such an error after the start leaves the plugin up, as `degraded`.
  const rule = state === 'degraded' ? ' A required plugin must start without such an error.' : ''
  return `"${id}" (${entry.where}) is ${status}: ${reason ?? 'no reason given'}${rule}`
}
