import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import {
  answerInTime,
  answerOf,
  type CommandContext,
  defineCommands,
  type NodeClient,
  runningNode,
} from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { verifyArchive } from './archive/read-archive.ts'
import { generateKey } from './archive/recovery-key.ts'
import type { BackupConfiguration } from './configuration.ts'
import { rehearse } from './drill/rehearsal.ts'
import { readVerdict, sentenceOf } from './drill/verdict.ts'
import { extract, find } from './extract/extract-commands.ts'
import { runWithLentFolder } from './lend/run-with-lent-folder.ts'
import { readWithKeys } from './recovery-keys.ts'
import { forgetPrevious, restore, restoreLines } from './restore/restore-commands.ts'
import { type StoredTotal, sentenceOfTotal, totalOf } from './retention/retained-backups.ts'
import { nextDue } from './schedule/schedule.ts'
import { BackupFolder, namedBackup } from './stored/backup-folder.ts'

type Context = CommandContext<BackupConfiguration>

/** How often the progress of a backup is asked for, in milliseconds. */
const askEveryMs = 500

/** The commands `nodekeep backup …`. */
export default defineCommands<BackupConfiguration>({
  async create(context) {
    const node = await runningNode(context)
    const { filename, size } = await withProgress(context, node, createBackup(context, node))
    context.output.state({ filename, size })
    if (context.options.json === true) return
    const { stored } = await statusOf(node, context.signal)
    context.output.lines(...linesOf(stored))
  },

  async list({ config, dataDir, nodeDataDir, restores, options, output }) {
    const unreadable: string[] = []
    const backups = await new BackupFolder(resolve(nodeDataDir, 'backups'), (filename, reason) =>
      unreadable.push(`The backup ${filename} cannot be read, so it is not listed: ${reason}`),
    ).list()
    output.table(
      backups.map(({ filename, size, created, encrypted, omitted }) => ({
        filename,
        size,
        created,
        encrypted: encrypted ? 'yes' : 'no',
        'left out': omitted,
      })),
      'There are no backups yet. `nodekeep backup create` makes one.',
    )
    output.lines(...unreadable)
    if (options.json !== true)
      output.lines(...linesOf(totalOf(backups, config.keep, nextDue(config.schedule))))
    const verdict = await readVerdict(dataDir)
    if (options.json !== true && verdict !== null) output.lines(sentenceOf(verdict, new Date()))
    if (options.json !== true) output.lines(...(await restoreLines(nodeDataDir, restores)))
  },

  async verify(context) {
    const file = namedBackup(context.args[0] ?? '', context.nodeDataDir)
    const verified = await readWithKeys(context, 'verifying', (reading) => verifyArchive(file, reading))
    const { header, encrypted, entries, bytes } = verified
    context.output.state({
      result: 'The backup is whole.',
      created: header.created,
      'made by': `Nodekeep ${header.nodekeep}`,
      encrypted,
      entries,
      bytes,
      'left out': header.omitted.length,
    })
    for (const { what, why } of header.omitted) context.output.lines(`left out: ${what}: ${why}`)
  },

  find,
  extract,
  restore,
  'forget-previous': forgetPrevious,

  async moment(context) {
    process.exitCode = await runWithLentFolder(await runningNode(context), context)
  },

  rehearse,

  async key({ options, output }) {
    const key = await generateKey()
    if (options.json === true) output.state({ ...key })
    // The form of a key file of age: its programs, and `--key`, take the output as a file.
    else output.lines(`# recipient: ${key.recipient}`, key.identity)
  },
})

/** Makes a backup. The status tells the end of one that takes long. */
async function createBackup(
  { signal }: Context,
  node: NodeClient,
): Promise<Pick<NodeAnswers['POST /api/backup/create'], 'filename' | 'size'>> {
  const created = await answerInTime<NodeAnswers['POST /api/backup/create']>(
    node.fetch('/api/backup/create', { method: 'POST', signal }),
  )
  if (created !== null) return created
  let status: NodeAnswers['GET /api/backup/status']
  do {
    await setTimeout(askEveryMs, undefined, { signal })
    status = await statusOf(node, signal)
  } while (status.running !== null)
  const { filename, problem } = status.last ?? { filename: null, problem: null }
  if (filename === null) throw new Error(problem ?? 'The backup was not made. The log of the node says why.')
  const { backups } = await answerOf<NodeAnswers['GET /api/backup/list']>(
    node.fetch('/api/backup/list', { signal }),
  )
  return { filename, size: backups.find((backup) => backup.filename === filename)?.size ?? 0 }
}

async function statusOf(
  node: NodeClient,
  signal: AbortSignal,
): Promise<NodeAnswers['GET /api/backup/status']> {
  return answerOf(node.fetch('/api/backup/status', { signal }))
}

function linesOf(total: StoredTotal): string[] {
  const sentence = sentenceOfTotal(total)
  return sentence === null ? [] : [sentence]
}

async function withProgress<T>(context: Context, node: NodeClient, work: Promise<T>): Promise<T> {
  const line = context.output.progress('backup')
  const timer = setInterval(async () => {
    const status = await answerOf<NodeAnswers['GET /api/backup/status']>(
      node.fetch('/api/backup/status'),
    ).catch(() => null)
    const running = status?.running
    if (running)
      line.update(
        running.share ?? 0,
        `${running.entries} entries, ${Math.round(running.bytes / 1024 ** 2)} MiB`,
      )
  }, askEveryMs)
  try {
    return await work
  } finally {
    clearInterval(timer)
    line.end()
  }
}
