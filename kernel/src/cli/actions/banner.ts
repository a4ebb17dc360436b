import { isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { LoginProviders } from '@nodekeep/plugin-sdk'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import { isLoopback } from '@nodekeep/plugin-sdk/loopback'
import { isWildcard } from '../../http/listen.ts'
import type { RunningNode } from '../../node.ts'
import type { PluginDescription } from '../../plugins/describe-plugin.ts'
import { kernelVersion } from '../../system/kernel-version.ts'
import { ownCommand } from '../../system/own-command.ts'
import { itemLines, pluginLines } from '../common/print-lines.ts'

/** Writes the message about a node that is up: its address, its plugins, and the next steps. */
export function banner(node: RunningNode): string {
  const lines = [
    `Nodekeep ${kernelVersion} is running.`,
    '',
    ...itemLines([
      ['Address', addresses(node)],
      ['Data', node.dataFolder],
      ['Plugins', node.plugins().length === 0 ? 'none' : pluginLines(node.plugins())],
      ['Warning', warning(node)],
      ['', ''],
      ['Next', next(node)],
    ]),
  ]
  return `\n${lines.map((line) => `  ${line}`.trimEnd()).join('\n')}\n\n`
}

/** The addresses from outside, on this machine, and on its networks if the node listens on them. */
function addresses(node: RunningNode): string[] {
  const { url, listensOn } = node
  const onNetworks = isWildcard(listensOn) ? networkOrigins(listensOn, url.port) : []
  return [...new Set([...node.publicOrigins(), url.origin, ...onNetworks])]
}

/** The origins of a machine's addresses on its networks. Link-local ones are left out: browsers cannot open them. */
function networkOrigins(listensOn: string, port: string): string[] {
  const known = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  const reachable = known.filter(
    ({ internal, family, address }) =>
      !internal && (family === 'IPv4' || (!isIPv4(listensOn) && !/^fe[89ab]/i.test(address))),
  )
  return reachable.map(({ family, address }) =>
    family === 'IPv4' ? `http://${address}:${port}` : `http://[${address}]:${port}`,
  )
}

/** The risk of a node that other machines reach without TLS. */
function warning({ listensOn, hostnames, url, publicOrigins }: RunningNode): string[] {
  const isReached = isWildcard(listensOn) || !isLoopback(url.hostname)
  if (!isReached || publicOrigins().some((origin) => origin.startsWith('https:'))) return []
  return [
    'The node speaks plain HTTP: everybody on the network can read and change what is sent.',
    'Put a proxy with TLS in front of it, and name its address in "server.publicUrl".',
    ...(isWildcard(listensOn) && hostnames.length === 0
      ? ['To sign in by an address of the network, add its host to "server.hostnames".']
      : []),
  ]
}

function next(node: RunningNode): string[] {
  const code = node.claimCode()
  const stop = 'Stop it with Ctrl+C.'
  if (code === null) {
    return [node.hasPages() ? `Open ${addresses(node)[0]}` : `curl ${node.url.origin}/health`, stop]
  }
  if (!node.plugins().some(isLoginProvider)) {
    return [
      'This node has no owner yet, and no login provider is loaded. Load one, for example with',
      '"plugins": { "login-siwe": true }, and restart the node. For curl on this machine:',
      `${ownCommand()} session create --wallet <your wallet address>`,
      stop,
    ]
  }
  const link = `${addresses(node)[0]}/#claim=${code}`
  return [
    'This node has no owner yet. The first user who signs in with this claim code becomes the owner:',
    '',
    `    ${code}`,
    '',
    ...(node.hasPages()
      ? ['To sign in with a browser, open:', '', `    ${link}`, '', 'For curl on this machine:']
      : ['How to sign in: see "Sign in" in README.md. For curl on this machine:']),
    `${ownCommand()} session create --wallet <your wallet address>`,
    stop,
  ]
}

function isLoginProvider({ state, contributes }: PluginDescription): boolean {
  return ['active', 'degraded'].includes(state) && contributes.includes(tokenKey(LoginProviders))
}
