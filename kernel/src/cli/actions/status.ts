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
  const report = owner === null || url === null ? null : await reportOf(kernel.data, options, process)
  const status = {
    running: true,
    address: url?.href ?? null,
    process: pid,
    since: since.toISOString(),
    data: kernel.data,
    owner: owner === null ? null : { username: owner.username, wallet: owner.wallet },
    health,
    plugins: report?.plugins ?? null,
    attention: report?.attention ?? null,
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
      report === null
        ? []
        : pluginLines(Object.entries(report.plugins).map(([id, state]) => ({ id, state }))),
    ],
    ['Attention', [...(report?.attention ?? [])]],
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

/** Returns the part of the status that only the owner may know; `null` if the node does not answer. */
async function reportOf(dataFolder: string, options: ConfigurationOptions, process: CommandProcess) {
  await using node = await connectToNode(dataFolder, options, process, 'nodekeep status')
  try {
    const ask = async (path: string) =>
      (await node?.fetch(path, { signal: AbortSignal.timeout(5000) }))?.json()
    const { plugins } = (await ask('/api/system/plugins')) as NodeAnswers['GET /api/system/plugins']
    const { attention } = (await ask('/api/system/health')) as NodeAnswers['GET /api/system/health']
    return {
      plugins: Object.fromEntries(plugins.map(({ id, state }) => [id, state])),
      attention: attention.map(({ message }) => message),
    }
  } catch {
    return null
  }
}
