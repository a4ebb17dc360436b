import { basename, join, resolve } from 'node:path'
import type { CommandContext } from '@nodekeep/plugin-sdk'
import { readJson, writeJson } from '@nodekeep/plugin-sdk/durable-files'
import { verifyArchive } from '../archive/read-archive.ts'
import { identitiesOf, readWithKeys } from '../recovery-keys.ts'
import { giveToNode } from '../restore/give-to-node.ts'
import { BackupFolder } from '../stored/backup-folder.ts'

/** A proof that a person has the key that opens a backup. */
interface Rehearsal {
  /** ISO 8601. */
  readonly at: string
  /** The backup that it opened. */
  readonly filename: string
}

/** `nodekeep backup rehearse`: asks for the recovery key, opens a backup with it, and reads the whole of it. */
export async function rehearse(context: CommandContext): Promise<void> {
  const { dataDir, nodeDataDir, output } = context
  const file = await fileToOpen(context)
  const given = await identitiesOf(context)
  const asked = given.length > 0 ? null : await context.ask('Recovery key:')
  if (given.length === 0 && asked === null) {
    throw new Error('There is no terminal to enter the recovery key at. Give the file with it: --key FILE.')
  }
  const identities = asked === null ? given : [asked]
  const { header, encrypted, entries } = await readWithKeys(
    context,
    'opening',
    (reading) => verifyArchive(file, reading),
    identities,
  )
  if (!encrypted) {
    throw new Error(
      `The archive ${basename(file)} is not encrypted: it opens without a key. Set backup.recipients.`,
    )
  }
  const rehearsal: Rehearsal = { at: new Date().toISOString(), filename: basename(file) }
  await writeJson(rehearsalFile(dataDir), rehearsal)
  output.state({
    result: 'The key opens the backup.',
    backup: basename(file),
    created: header.created,
    entries,
  })
  await giveToNode(nodeDataDir, [dataDir])
}

/** The file or the backup that the person names, otherwise the newest encrypted backup. */
async function fileToOpen({ args, nodeDataDir }: CommandContext): Promise<string> {
  const folder = new BackupFolder(join(nodeDataDir, 'backups'))
  const [name] = args
  if (name !== undefined) return folder.find(name).catch(() => resolve(name))
  const newest = (await folder.list()).find(({ encrypted }) => encrypted)
  if (newest !== undefined) return folder.find(newest.filename)
  throw new Error(
    'There is no encrypted backup yet. Set backup.recipients, then make one: `nodekeep backup create`.',
  )
}

/** Returns the last rehearsal of a node; null if there was none. */
export async function readRehearsal(dataDir: string): Promise<Rehearsal | null> {
  return await readJson<Rehearsal>(rehearsalFile(dataDir)).catch(() => null)
}

function rehearsalFile(dataDir: string): string {
  return join(dataDir, 'rehearsal.json')
}
