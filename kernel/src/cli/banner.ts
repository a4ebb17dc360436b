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

  Next     ${next(node).join('\n           ')}

`
}

function describe({ id, state, reason }: PluginDescription): string {
  return reason === null || state === 'disabled' ? `${id}: ${state}` : `${id}: ${state} (${reason})`
}

function next(node: RunningNode): string[] {
  const code = node.claimCode()
  const stop = 'Stop it with Ctrl+C.'
  if (code === null) return [`curl ${node.url.origin}/health`, stop]
  return [
    'This node has no owner yet. The first who signs in with this claim code becomes the owner:',
    '',
    `    ${code}`,
    '',
    'How to sign in: see "Sign in" in README.md. For curl on this machine:',
    'nodekeep session create --wallet <your wallet address>',
    stop,
  ]
}
