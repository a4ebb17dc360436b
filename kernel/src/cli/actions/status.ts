import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { findRunningNode } from '../../state/running-node.ts'
import type { CommandProcess } from '../common/command-process.ts'
import type { ConfigurationOptions, PrintOptions } from '../common/configuration-options.ts'
import { withIdentity } from '../common/identity-access.ts'
import { connectToNode } from '../common/node-client.ts'
import { type Item, itemLines, pluginLines, printJson, printLines } from '../common/print-lines.ts'
import { readConfiguration } from '../common/read-configuration.ts'

/** `nodekeep status`. The exit code is 1 if no node runs, or if a required health check fails. */
export async function showStatus(options: PrintOptions, process: CommandProcess): Promise<void> {
  const { kernel } = await readConfiguration(options, process)
  const running = findRunningNode(kernel.data)
  if (running === null) {
    process.exitCode = 1
    if (options.json === true) printJson({ running: false, data: kernel.data }, process.stdout)
    else printLines([`No node runs on ${kernel.data}. Start one with "nodekeep start".`], process.stdout)
    return
  }
  const { pid, since, url } = running
  const owner = await withIdentity(options, process, async (identity) => identity.owner())
  const health = url === null ? null : await healthOf(url)
  const plugins = owner === null || url === null ? null : await pluginsOf(kernel.data, options, process)
  const status = {
    running: true,
    address: url?.href ?? null,
    process: pid,
    since: since.toISOString(),
    data: kernel.data,
    owner: owner === null ? null : { username: owner.username, wallet: owner.wallet },
    health,
    plugins,
  }
  if (health === null || !health.serving) process.exitCode = 1
  if (options.json === true) {
    printJson(status, process.stdout)
    return
  }
  const items: Item[] = [
    ['Address', status.address ?? 'it does not listen yet'],
    ['Process', `${pid}, since ${status.since}`],
    ['Data', status.data],
    [
      'Owner',
      owner === null ? 'none yet: sign in with the claim code' : `${owner.username}, ${owner.wallet}`,
    ],
    ['Health', health === null ? 'the node does not answer' : health.status],
    [
      'Plugins',
      plugins === null ? [] : pluginLines(Object.entries(plugins).map(([id, state]) => ({ id, state }))),
    ],
  ]
  printLines(itemLines(items), process.stdout)
}

async function healthOf(url: URL) {
  try {
    const answer = await fetch(new URL('/health', url), { signal: AbortSignal.timeout(5000) })
    const { status } = (await answer.json()) as NodeAnswers['GET /health']
    return { serving: answer.ok, status }
  } catch {
    return null
  }
}

/** Returns the states of the plugins, by id; `null` if the node does not answer. */
async function pluginsOf(
  dataFolder: string,
  options: ConfigurationOptions,
  process: CommandProcess,
): Promise<Record<string, string> | null> {
  await using node = await connectToNode(dataFolder, options, process, 'nodekeep status')
  try {
    const answer = await node?.fetch('/api/system/plugins', { signal: AbortSignal.timeout(5000) })
    if (answer?.ok !== true) return null
    const { plugins } = (await answer.json()) as NodeAnswers['GET /api/system/plugins']
    return Object.fromEntries(plugins.map(({ id, state }) => [id, state]))
  } catch {
    return null
  }
}
