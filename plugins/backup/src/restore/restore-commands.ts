import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  answerOf,
  type CommandContext,
  lockFolder,
  type NodeClient,
  NodekeepError,
  type NodeRestores,
} from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { readHeader } from '../archive/read-archive.ts'
import { mebibytes } from '../create/free-space.ts'
import { readWithKeys } from '../recovery-keys.ts'
import { namedBackup } from '../stored/backup-folder.ts'
import { type Excerpt, isSameWallet, type KnownUser, type RestoreDifferences } from './differences.ts'
import { giveToNode } from './give-to-node.ts'
import { cancelRestore, nothingToCancel, planRestore } from './plan-restore.ts'
import { prepareRestore } from './prepare-restore.ts'
import { type RestoreFolder, RestoreFolders } from './restore-folder.ts'
import { twoNodesWarning } from './restored-identity.ts'

/**
 * `nodekeep backup restore FILE`: works in this process, whether a node runs or not, so that the recovery key stays here. Only the
 * plan is made by the node that runs.
 */
export async function restore(context: CommandContext): Promise<void> {
  const { args, nodeDataDir, options } = context
  const folders = new RestoreFolders(nodeDataDir, context.restores)
  const [name] = args
  if (options.cancel === true) return cancel(context, folders)
  if (name === undefined) throw new Error('Give the backup to restore: nodekeep backup restore FILE')
  const file = namedBackup(name, nodeDataDir)
  // A mistyped name must not make a data folder.
  await readHeader(file)
  const isEmpty = !statSync(nodeDataDir, { throwIfNoEntry: false })?.isDirectory()
  // It makes the data folder.
  if (isEmpty) await context.exclusive()
  let node: NodeClient | null = null
  let folder: RestoreFolder
  let isPlanned = false
  try {
    // Before the node is asked: a second command would take the first one for a node that starts.
    using _lock = folders.lock()
    if (!isEmpty) {
      node = await context.node()
      if (node === null) await context.exclusive()
    }
    // A node that runs has these locks itself.
    using _folders = node === null ? await lockStorages(context) : null
    folder = await prepare(context, folders, file)
    try {
      describe(context, folder, folder.record.differences, (await folders.planned())?.record.backup)
      if (options.yes !== true && !(await context.confirm('Restore this backup at the next start?'))) {
        context.output.lines('Nothing was changed. With --yes, the command does not ask.')
        return
      }
      if (node === null) await planRestore(folder, folders, context.restores)
      isPlanned = true
    } finally {
      if (!isPlanned) await folder.remove()
    }
  } finally {
    const roots = (await context.restores.folders()).map(({ path }) => path)
    await giveToNode(nodeDataDir, [
      join(nodeDataDir, 'restore'),
      ...roots.map((root) => join(root, '.nodekeep')),
    ])
  }
  if (node === null) goOn(context, folder)
  else await goOnInNode(context, node, folders, folder)
}

/** @throws NodekeepError CONFLICT if another node, with another data folder, uses a folder of this one */
async function lockStorages({ restores }: CommandContext): Promise<Disposable> {
  const locks = new DisposableStack()
  for (const { plugin, key, path } of await restores.folders()) {
    const lock = lockFolder(path)
    if (lock === null) {
      locks.dispose()
      throw new NodekeepError(
        'CONFLICT',
        `Another node uses the folder ${path}, whose files this restore would replace. Stop that node, or give this one a folder of its own: the key "${key}" of the plugin "${plugin}".`,
      )
    }
    locks.use(lock)
  }
  return locks
}

async function prepare(
  context: CommandContext,
  folders: RestoreFolders,
  file: string,
): Promise<RestoreFolder> {
  const { nodeDataDir, options, restores } = context
  const plugins = new Set((await restores.plugins()).map(({ id }) => id))
  // Without a running node, the configuration tells which plugins bring storages.
  const hasBackend = (_name: string, plugin?: string) => plugin === undefined || plugins.has(plugin)
  const newIdentity = options.newIdentity === true
  const without = typeof options.without === 'string' ? options.without.split(',') : []
  return readWithKeys(context, 'verifying and unpacking', (reading) =>
    prepareRestore(
      { dataFolder: nodeDataDir, folders, restores, hasBackend },
      { file, newIdentity, without, ...reading },
    ),
  )
}

/** `nodekeep backup restore --cancel`. */
async function cancel(context: CommandContext, folders: RestoreFolders): Promise<void> {
  if (!existsSync(join(context.nodeDataDir, 'restore'))) throw nothingToCancel()
  const node = await context.node()
  let backup: string
  if (node === null) {
    await context.exclusive()
    using _lock = folders.lock()
    backup = await cancelRestore(folders, context.restores)
  } else {
    const answer = node.fetch('/api/backup/restore', { method: 'DELETE' })
    backup = (await answerOf<NodeAnswers['DELETE /api/backup/restore']>(answer)).backup
  }
  context.output.lines(`The restore of ${backup} is taken back. The node keeps its present data.`)
}

/** `nodekeep backup forget-previous`. */
export async function forgetPrevious({
  nodeDataDir,
  restores,
  options,
  output,
  confirm,
}: CommandContext): Promise<void> {
  const folders = new RestoreFolders(nodeDataDir, restores)
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

const identities = {
  same: 'that of the backup, which the node has now',
  another: 'that of the backup, which the node does not have now',
  new: 'a new one',
  present: 'the present one, since the backup has none',
} as const

/** Says that a restore is planned, that former data is kept, and how much. */
export async function restoreLines(dataFolder: string, restores: NodeRestores): Promise<string[]> {
  const folders = new RestoreFolders(dataFolder, restores)
  const planned = await folders.planned()
  const previous = await folders.previous()
  const bytes = previous.reduce((sum, one) => sum + one.bytes, 0)
  return [
    ...(planned === null
      ? []
      : [
          `The next start of the node restores ${planned.record.backup}. \`nodekeep backup restore --cancel\` takes that back.`,
        ]),
    ...(previous.length === 0
      ? []
      : [
          `The data from before the last restore is kept: ${mebibytes(bytes)} MiB. \`nodekeep backup forget-previous\` deletes it.`,
        ]),
  ]
}

async function planInNode(
  node: NodeClient,
  prepared: string,
  extra: { readonly restart?: true },
): Promise<NodeAnswers['POST /api/backup/restore']> {
  const body = JSON.stringify({ prepared, confirm: true, ...extra })
  const headers = { 'content-type': 'application/json' }
  return answerOf(node.fetch('/api/backup/restore', { method: 'POST', body, headers }))
}

/** The answer of the node may be lost after it has made the plan. Another restore may go on, which removes this one itself. */
async function removeUnplanned(folders: RestoreFolders, error: unknown): Promise<never> {
  try {
    using _lock = folders.lock()
    await folders.removeUnplanned()
  } catch {
    throw error
  }
  throw error
}

function describe(
  context: CommandContext,
  { record }: RestoreFolder,
  differences: RestoreDifferences | undefined,
  planned: string | undefined,
): void {
  if (differences === undefined) return
  const { addedUsers, removedUsers, changedUsers, owner, plugins, identity } = differences
  const { present, restored } = owner
  const isSame = present !== null && restored !== null && isSameWallet(present, restored)
  const nameOf = (user: KnownUser | null) =>
    user === null ? 'none' : isSame ? user.username : withWallet(user)
  context.output.state({
    backup: record.backup,
    'state of': record.moment,
    'users that come back': listed(addedUsers),
    'users that go away': listed(removedUsers),
    'users with another name or wallet': listed({
      count: changedUsers.count,
      first: changedUsers.first.map(
        (user) => `${withWallet(user.restored)} instead of ${withWallet(user.present)}`,
      ),
    }),
    owner: nameOf(restored),
    'present owner': nameOf(present),
    'plugins whose data is replaced': listed(plugins),
    identity: identities[identity],
    ...(planned !== undefined && { 'instead of the planned restore of': planned }),
  })
  if (identity === 'another') context.output.lines(twoNodesWarning)
}

function listed({ count, first }: Excerpt<string>): string {
  const more = count - first.length
  return first.join(', ').concat(more > 0 ? `, and ${more} more` : '') || 'none'
}

function withWallet({ username, wallet }: KnownUser): string {
  return `${username} (${wallet})`
}

/** A restore that the next start of a node applies, while none runs. */
function goOn(context: CommandContext, folder: RestoreFolder): void {
  const { output } = context
  output.lines(`The backup is restored when the node starts: nodekeep start --data ${context.nodeDataDir}`)
  output.lines(...linesOfPlan(context, folder))
}

/** Lets the node that runs make the plan, and restarts it if the person wants that. */
async function goOnInNode(
  context: CommandContext,
  node: NodeClient,
  folders: RestoreFolders,
  folder: RestoreFolder,
): Promise<void> {
  const { options, output, confirm } = context
  const { supervised } = await planInNode(node, folder.name, {}).catch((error) =>
    removeUnplanned(folders, error),
  )
  output.lines(
    'The backup is restored at the next start of the node. Until then, the node works on with its present data.',
    ...linesOfPlan(context, folder),
  )
  const isWanted =
    options.restart === true ||
    (options.yes !== true && supervised && (await confirm('Restart the node now?')))
  if (isWanted && supervised) {
    await planInNode(node, folder.name, { restart: true })
    output.lines('The node restarts.')
    return
  }
  output.lines(
    isWanted
      ? 'Nothing would start the node again, so it goes on. Stop it and start it to restore the backup.'
      : 'Stop the node and start it to restore the backup.',
  )
}

function linesOfPlan({ nodeDataDir }: CommandContext, { path }: RestoreFolder): string[] {
  return [
    'Until then, `nodekeep backup restore --cancel` takes the restore back.',
    ...(existsSync(join(nodeDataDir, 'state.sqlite'))
      ? [
          `The present data then goes to ${path}/previous, and stays until \`nodekeep backup forget-previous\`.`,
        ]
      : []),
    ...(existsSync(join(path, 'configuration'))
      ? [`The configuration of the backup is not put in place. It is in ${path}/configuration.`]
      : []),
  ]
}
