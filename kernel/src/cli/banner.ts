import { kernelVersion } from '../kernel-version.ts'
import type { RunningNode } from '../node.ts'
import type { PluginDescription } from '../plugins/describe-plugin.ts'

/** What a person reads when the node is up: where it is, what it runs, what to do next. */
export function banner(node: RunningNode): string {
  const plugins = node.plugins()
  return `
  Nodekeep ${kernelVersion} is running.

  Address  ${node.url.origin}
  Data     ${node.dataFolder}
  Plugins  ${plugins.length === 0 ? 'none' : plugins.map(describe).join('\n           ')}

  Next     curl ${node.url.origin}/health
           Stop it with Ctrl+C.

`
}

function describe({ id, state, reason }: PluginDescription): string {
  return reason === null || state === 'disabled' ? `${id}: ${state}` : `${id}: ${state} (${reason})`
}
