import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { ignoreRules, readIgnoreFile } from '../ignore-rules.ts'
import type { LocalEntry, LocalFileEntry } from '../ports.ts'
import { SyncFailure } from '../sync-failure.ts'
import { folded, inFolder, nameOf, ownFolder } from '../sync-paths.ts'
import { hasCode } from './disk-failures.ts'
import { fileEntry } from './file-identity.ts'
import { openContent } from './local-content.ts'

/** Something below a folder: a file, what the rules of the folder leave out, or what cannot be looked at, with the reason. */
export type FoundBelow = { readonly path: string } & (
  | { readonly is: 'file'; readonly real: string; readonly entry: LocalFileEntry }
  | { readonly is: 'ignored' }
  | { readonly is: 'unfit'; readonly reason: string }
)

/**
 * Goes through a folder that need not be synced, and changes nothing in it. Of all entries, it has no more in memory than the names of
 * the folders that are still to come. The rules of `.nodekeepignore` count. The folder of a client itself is passed over.
 *
 * @throws SyncFailure `stop` if the rules cannot be used
 */
export async function* filesBelow(root: string): AsyncGenerator<FoundBelow> {
  const entryAt = async (path: string): Promise<LocalEntry | null> => {
    const stats = await lstat(join(root, path), { bigint: true })
    if (stats.isFile()) return fileEntry(stats)
    if (stats.isDirectory()) return { type: 'directory' }
    return { type: 'other', reason: 'It is neither a file nor a folder.' }
  }
  const rules = await readIgnoreFile({
    stat: (path) =>
      entryAt(path).catch((error: unknown) => {
        if (hasCode(error, 'ENOENT')) return null
        throw error
      }),
    read: (path, file) => openContent(join(root, path), file),
  })
  const ignores = ignoreRules(rules)
  const folders = ['/']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    try {
      for await (const { name } of await opendir(join(root, folder))) {
        if (folded(name) === nameOf(ownFolder)) continue
        const path = inFolder(folder, name)
        const entry = await entryAt(path).catch((error: unknown) => unfit(name, error))
        if (entry === null) continue
        if (ignores(path, entry.type === 'directory')) yield { path, is: 'ignored' }
        else if (entry.type === 'directory') folders.push(path)
        else if (entry.type === 'file') yield { path, is: 'file', real: join(root, path), entry }
        else yield { path, is: 'unfit', reason: entry.reason }
      }
    } catch (error) {
      if (error instanceof SyncFailure || !hasCode(error, ...unreadable)) throw error
      yield { path: folder, is: 'unfit', reason: `The folder cannot be read: ${(error as Error).message}` }
    }
  }
}

const unreadable = ['EACCES', 'EPERM', 'EIO', 'ENAMETOOLONG', 'ELOOP', 'ENOENT', 'ENOTDIR', 'EILSEQ']

function unfit(name: string, error: unknown): LocalEntry | null {
  if (!hasCode(error, ...unreadable)) throw error
  // Bytes that are no text in UTF-8 were replaced, so nothing is at this path.
  if (name.includes('\ufffd')) return { type: 'other', reason: 'The name is no text in UTF-8.' }
  if (hasCode(error, 'ENOENT')) return null
  return { type: 'other', reason: `It cannot be read: ${(error as Error).message}` }
}
