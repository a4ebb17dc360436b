import { LoginProviders, tokenKey } from '@nodekeep/plugin-sdk'
import type { RunningNode } from '../../node.ts'
import type { PluginDescription } from '../../plugins/describe-plugin.ts'
import { kernelVersion } from '../../system/kernel-version.ts'

/** Writes the message about a node that is up: its address, its plugins, and the next steps. */
export function banner(node: RunningNode): string {
  const lines = [
    `Nodekeep ${kernelVersion} is running.`,
    '',
    ...item('Address', [node.url.origin]),
    ...item('Data', [node.dataFolder]),
    ...item('Plugins', pluginLines(node.plugins())),
    '',
    ...item('Next', next(node)),
  ]
  return `\n${lines.map((line) => `  ${line}`.trimEnd()).join('\n')}\n\n`
}

function item(name: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => `${(index === 0 ? name : '').padEnd(9)}${line}`)
}

/** One line for the plugins that are as configured, and one for each that needs a look. */
function pluginLines(plugins: readonly PluginDescription[]): string[] {
  if (plugins.length === 0) return ['none']
  const counts = (['active', 'disabled'] as const).flatMap((wanted) => {
    const count = plugins.filter(({ state }) => state === wanted).length
    return count === 0 ? [] : [`${count} ${wanted}`]
  })
  const troubled = plugins.filter(({ state }) => state !== 'active' && state !== 'disabled')
  return [
    ...(counts.length === 0 ? [] : [counts.join(', ')]),
    ...troubled.map(({ id, state, reason }) => `${id}: ${state}${reason === null ? '' : ` (${reason})`}`),
  ]
}

function next(node: RunningNode): string[] {
  const code = node.claimCode()
  const stop = 'Stop it with Ctrl+C.'
  if (code === null) return [`curl ${node.url.origin}/health`, stop]
  if (!node.plugins().some(isLoginProvider)) {
    return [
      'This node has no owner yet, and no login provider is loaded. Load one, for example with',
      '"plugins": { "login-siwe": true }, and restart the node. For curl on this machine:',
      `${program()} session create --wallet <your wallet address>`,
      stop,
    ]
  }
  return [
    'This node has no owner yet. The first user who signs in with this claim code becomes the owner:',
    '',
    `    ${code}`,
    '',
    'How to sign in: see "Sign in" in README.md. For curl on this machine:',
    `${program()} session create --wallet <your wallet address>`,
    stop,
  ]
}

function isLoginProvider({ state, contributes }: PluginDescription): boolean {
  return ['active', 'degraded'].includes(state) && contributes.includes(tokenKey(LoginProviders))
}

/** Returns the command that runs the command line: a checkout has no `nodekeep` on the path. */
function program(): string {
  return process.env.npm_lifecycle_event === 'start' ? 'npm start --' : 'nodekeep'
}
