import { createReadStream, existsSync, lstatSync, openSync, readdirSync } from 'node:fs'
import { rmdir } from 'node:fs/promises'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import { emptyFolder, withShortPath } from '@nodekeep/plugin-sdk/archive'
import { keptFolder } from '../mounts/kept-folder.ts'
import { ignoreMissing } from '../operations/path-errors.ts'

/** The folders of users, which have the uuid of the user as their name. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Removes the files of all users from a storage, then writes those of a folder into it. What the storage keeps of deleted and replaced
 * files stays, unless the folder has it.
 */
export async function replaceFiles(
  backend: StorageBackend,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const former: string[] = []
  for await (const { name, type } of backend.list('/')) {
    if (type === 'directory' && uuid.test(name)) former.push(name)
  }
  for (const name of former) await backend.remove(`/${name}`)
  if (existsSync(folder + keptFolder)) await backend.remove(keptFolder).catch(ignoreMissing)
  const folders = ['']
  for (let path = folders.pop(); path !== undefined; path = folders.pop()) {
    for (const name of withShortPath(folder + path, (short) => readdirSync(short))) {
      signal.throwIfAborted()
      const inner = `${path}/${name}`
      const found = withShortPath(folder + inner, (short) => lstatSync(short))
      if (found.isDirectory()) {
        await backend.makeDirectory(inner)
        folders.push(inner)
      } else {
        const { size, mtime } = found
        await backend.write(inner, contentOf(folder + inner), { size, modified: mtime, signal })
      }
    }
  }
}

/** The file is opened before the short path ends. */
function contentOf(path: string): AsyncIterable<Uint8Array> {
  const descriptor = withShortPath(path, (short) => openSync(short, 'r'))
  return createReadStream('', { fd: descriptor })
}

/** Removes a folder whose paths may be longer than the system takes. */
export async function removeFolder(folder: string): Promise<void> {
  await emptyFolder(folder)
  await rmdir(folder)
}
