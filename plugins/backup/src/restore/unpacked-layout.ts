import { lstatSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * The files of a backup that the kernel and the format know. Of a plugin, only databases are in a backup: a forged one cannot bring
 * other files into the folders of plugins, such as compiled code.
 */
const files =
  /^(backup\.json|SHA256SUMS|manifest\.json|state\/(state\.sqlite|users\.json|plugins\/[^/]+\/[a-z0-9][a-z0-9-]{0,99}\.sqlite)|identity\/node\.key)$/

/** The folders above them, and those of participants and of the configuration, in which anything may be. */
const folders = /^([^/]+|state\/plugins(\/[^/]+)?)$/

/** The folders whose content is known. */
const known = /^(state|identity)(\/|$)/

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a folder of a storage has the name of one with the files of a user. */
export function isUserFolder(name: string): boolean {
  return uuid.test(name)
}

/**
 * Checks that what was unpacked has the layout of a node's backup: whatever the node reads has the kind that it must have, and
 * nothing else is there. A restore would lose it, or put it where it does not belong.
 *
 * @param archive the name of the archive, for messages
 * @param storages the paths of storages in the archive
 * @throws NodekeepError VALIDATION_ERROR
 */
export async function checkLayout(
  unpacked: string,
  archive: string,
  storages: readonly string[],
): Promise<void> {
  const refuse = (path: string, why: string) =>
    new NodekeepError(
      'VALIDATION_ERROR',
      `The archive ${archive} is no backup of a node: ${JSON.stringify(path)} ${why}.`,
    )
  const isFolder = (path: string) => lstatSync(join(unpacked, path), { throwIfNoEntry: false })?.isDirectory()
  const pending = ['']
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const entry of await readdir(join(unpacked, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (files.test(path)) {
        if (!entry.isFile()) throw refuse(path, 'is a folder')
      } else if (!folders.test(path)) throw refuse(path, 'is in it, which no backup has')
      else if (!entry.isDirectory()) throw refuse(path, 'is a file')
      else if (known.test(path)) pending.push(path)
    }
  }
  for (const path of storages) if (isFolder(path) === false) throw refuse(path, 'is a file')
  if (isFolder('state/state.sqlite') === undefined) throw refuse('state/state.sqlite', 'is missing')
}

/** The folder of a storage with what is kept of deleted and replaced files. It has a folder for each user. */
const keptFolder = 'kept'

/**
 * The folders in an unpacked storage: those of users, and perhaps {@link keptFolder}.
 *
 * @param path its path in the archive
 * @throws NodekeepError VALIDATION_ERROR if something else is there
 */
export async function foldersIn(folder: string, path: string): Promise<string[]> {
  const names = await foldersOf(folder, path, (name) => isUserFolder(name) || name === keptFolder)
  if (names.includes(keptFolder))
    await foldersOf(join(folder, keptFolder), `${path}/${keptFolder}`, isUserFolder)
  return names
}

async function foldersOf(
  folder: string,
  path: string,
  isExpected: (name: string) => boolean,
): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const odd = entries.find((entry) => !entry.isDirectory() || !isExpected(entry.name))
  if (odd === undefined) return entries.map(({ name }) => name)
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `The backup cannot be restored: ${JSON.stringify(`${path}/${odd.name}`)} is not the folder of a user.`,
  )
}
