import { lstatSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type CommandContext, NodekeepError, nameOf } from '@nodekeep/plugin-sdk'
import { emptyFolder } from '@nodekeep/plugin-sdk/archive'
import { extractUserFile, findUserFiles, readHeader } from '../archive/read-archive.ts'
import { readWithKeys } from '../recovery-keys.ts'
import { namedBackup } from '../stored/backup-folder.ts'

/** Of the progress. */
const label = 'reading the backup'

/** `nodekeep backup find FILE TEXT`: names the files and folders of all users whose names contain the text. */
export async function find(context: CommandContext): Promise<void> {
  const { args, nodeDataDir, output } = context
  const [name = '', text = ''] = args
  const { found, count } = await readWithKeys(context, label, (reading) =>
    findUserFiles(namedBackup(name, nodeDataDir), text, reading),
  )
  output.table(
    found.map(({ username, path, type, size, modified }) => {
      return { user: username, path, type, size: type === 'file' ? size : '', modified }
    }),
    `The backup has nothing with ${JSON.stringify(text)} in its name.`,
  )
  if (count > found.length)
    output.lines(`These are the first ${found.length} of ${count}. Give more of the name.`)
}

/**
 * `nodekeep backup extract FILE PATH`: writes a file or a folder of a user into a folder of this machine. It appears there when the
 * whole backup was read and is as its checksums say.
 */
export async function extract(context: CommandContext): Promise<void> {
  const { args, nodeDataDir, options, output } = context
  const [name = '', given = ''] = args
  const file = namedBackup(name, nodeDataDir)
  const path = `/${given}`
    .normalize('NFC')
    .replace(/\/+/g, '/')
    .replace(/(.)\/$/, '$1')
  const user = typeof options.user === 'string' ? options.user : null
  const out = resolve(typeof options.out === 'string' ? options.out : '.')
  await readHeader(file)
  // A mistake is told before the backup is read. The user, after whom `/` is named, is not known yet.
  const replaced = path === '/' ? null : await toReplace(context, join(out, nameOf(path)))
  if (replaced === false)
    throw new Error('Nothing was written. With --yes, the command does not ask. --out names another folder.')
  await mkdir(out, { recursive: true })
  const folder = await mkdtemp(join(out, '.nodekeep-extract-'))
  try {
    const extracted = await readWithKeys(context, label, (reading) =>
      extractUserFile(file, folder, { user, path, ...reading }),
    )
    const { type, username, files, bytes } = extracted
    const target = join(out, extracted.name)
    // Something may have come meanwhile, and a folder replaces nothing.
    if (replaced === null || type === 'directory') refuseTaken(target)
    await rename(join(folder, extracted.name), target)
    output.state({ extracted: target, user: username, files, bytes })
  } finally {
    await emptyFolder(folder)
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns null if nothing is there; otherwise whether the person lets the file be replaced. */
async function toReplace({ options, confirm }: CommandContext, target: string): Promise<boolean | null> {
  const found = lstatSync(target, { throwIfNoEntry: false })
  if (found === undefined) return null
  if (!found.isFile()) refuseTaken(target)
  return options.yes === true || (await confirm(`${target} exists. Replace it?`))
}

/** @throws NodekeepError CONFLICT if something is there */
function refuseTaken(target: string): void {
  if (lstatSync(target, { throwIfNoEntry: false }) === undefined) return
  throw new NodekeepError('CONFLICT', `${target} exists already. Name another folder: --out FOLDER`)
}
