import { resolve } from 'node:path'
import type { CommandContext, NodeClient } from '@nodekeep/plugin-sdk'
import { identitiesOf } from '../recovery-keys.ts'
import type { RestoreDifferences } from './differences.ts'
import { planRestore } from './plan-restore.ts'
import { prepareRestore } from './prepare-restore.ts'
import { type RestoreFolder, RestoreFolders } from './restore-folder.ts'

/**
 * `nodekeep backup restore FILE`: works in this process, whether a node runs or not, so that the recovery key stays here. Only the
 * plan is made by the node that runs.
 */
export async function restore(context: CommandContext): Promise<void> {
  const { nodeDataDir, options, output, restores, signal } = context
  const node = await context.node()
  if (node === null) await context.exclusive()
  const folders = new RestoreFolders(nodeDataDir)
  const progress = output.progress('verifying and unpacking')
  let folder: RestoreFolder
  try {
    folder = await prepareRestore(
      { dataFolder: nodeDataDir, folders, restores, hasBackend: null },
      {
        file: resolve(context.args[0] ?? ''),
        identities: await identitiesOf(context),
        newIdentity: options.newIdentity === true,
        without: typeof options.without === 'string' ? options.without.split(',') : [],
        signal,
        onProgress: (share) => progress.update(share),
      },
    )
  } finally {
    progress.end()
  }
  let isPlanned = false
  try {
    describe(context, folder, folder.record.differences)
    if (options.yes !== true && !(await context.confirm('Restore this backup at the next start?'))) {
      output.lines('Nothing was changed.')
      return
    }
    if (node === null) await planRestore(folder, { folders, restores })
    else await planInNode(node, folder.name, {})
    isPlanned = true
  } catch (error) {
    // The answer of the node may be lost after it has made the plan.
    isPlanned = (await folders.ready(folder.name))?.record.state === 'planned'
    throw error
  } finally {
    if (!isPlanned) await folder.remove()
  }
  await goOn(context, node, folder)
}

/** `nodekeep backup forget-previous`. */
export async function forgetPrevious({
  nodeDataDir,
  options,
  output,
  confirm,
}: CommandContext): Promise<void> {
  const folders = new RestoreFolders(nodeDataDir)
  const previous = await folders.previous()
  if (previous.length === 0) {
    output.lines('There is no former data: no restore has left any.')
    return
  }
  for (const { backup, bytes } of previous) {
    output.lines(`Former data, from before the restore of ${backup}: ${mebibytes(bytes)} MiB`)
  }
  if (options.yes !== true && !(await confirm('Delete it? It cannot be brought back.'))) {
    output.lines('Nothing was deleted.')
    return
  }
  await folders.forgetPrevious()
  output.lines('The former data is deleted.')
}

/** Says that former data is kept, and how much. */
export async function previousLines(dataFolder: string): Promise<string[]> {
  const previous = await new RestoreFolders(dataFolder).previous()
  if (previous.length === 0) return []
  const bytes = previous.reduce((sum, one) => sum + one.bytes, 0)
  return [
    `The data from before the last restore is kept: ${mebibytes(bytes)} MiB. \`nodekeep backup forget-previous\` deletes it.`,
  ]
}

async function planInNode(
  node: NodeClient,
  prepared: string,
  extra: { readonly restart?: true },
): Promise<void> {
  const body = JSON.stringify({ prepared, confirm: true, ...extra })
  const headers = { 'content-type': 'application/json' }
  const answer = await node.fetch('/api/backup/restore', { method: 'POST', body, headers })
  if (!answer.ok) throw new Error(((await answer.json()) as { message?: string }).message)
}

function describe(
  { output, options }: CommandContext,
  { record }: RestoreFolder,
  differences: RestoreDifferences | undefined,
): void {
  if (differences === undefined) return
  const { addedUsers, removedUsers, owner, plugins } = differences
  const names = (list: readonly string[]) => list.join(', ') || 'none'
  output.state({
    backup: record.backup,
    'state of': record.moment,
    'users that come back': names(addedUsers),
    'users that go away': names(removedUsers),
    owner: owner.restored ?? 'none',
    'present owner': owner.present ?? 'none',
    'plugins with another state': names(plugins),
    identity: options.newIdentity === true ? 'a new one' : 'that of the backup',
  })
}

async function goOn(
  { output, options, confirm, nodeDataDir }: CommandContext,
  node: NodeClient | null,
  { name, path }: RestoreFolder,
): Promise<void> {
  const previous = `The present data then goes to ${path}/previous, and stays until \`nodekeep backup forget-previous\`.`
  const configuration = `The configuration of the backup, if it has one, is in ${path}/configuration. It is not put in place.`
  if (node === null) {
    output.lines(`The backup is restored when the node starts: nodekeep start --data ${nodeDataDir}`)
    output.lines(previous, configuration)
    return
  }
  output.lines(
    'The backup is restored at the next start of the node. Until then, the node works on with its present data.',
  )
  output.lines(previous, configuration)
  if (options.restart !== true && (options.yes === true || !(await confirm('Restart the node now?')))) {
    output.lines('Stop the node and start it to restore the backup.')
    return
  }
  await planInNode(node, name, { restart: true })
  output.lines('The node restarts.')
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 1024 ** 2)
}
