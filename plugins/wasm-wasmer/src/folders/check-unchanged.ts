import { type FileEntry, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { type ChangedFolder, pathIn } from './changed-folder.ts'

/**
 * Checks that everything that a program changed still is as the program found it.
 *
 * @throws NodekeepError PRECONDITION_FAILED when somebody else changed any of it, VALIDATION_ERROR for a path that
 * the files don't take
 */
export async function checkUnchanged(folder: ChangedFolder): Promise<void> {
  const { preopen, revisions, removed, stored } = folder
  const { files } = preopen
  const gone = new Set(removed)
  for (const path of removed) {
    const entry = await entryAt(folder, path)
    const revision = revisions.get(path)
    if (entry === null) continue
    if (revision !== undefined) expect(entry.revision === revision, entry.path)
    else {
      expect(entry.type === 'directory', entry.path)
      for await (const { name, path: inside } of files.list(entry.path)) {
        expect(gone.has(`${path}/${name}`), inside)
      }
    }
  }
  for (const { path, content } of stored) {
    if (gone.has(path)) continue
    const entry = await entryAt(folder, path)
    const isExpected = content === null ? entry?.type !== 'file' : entry?.revision === revisions.get(path)
    expect(isExpected, pathIn(folder, path))
  }
}

function expect(isUnchanged: boolean, path: string): void {
  if (isUnchanged) return
  throw new NodekeepError('PRECONDITION_FAILED', `"${path}" was changed by somebody else meanwhile.`)
}

async function entryAt(folder: ChangedFolder, path: string): Promise<FileEntry | null> {
  try {
    return await folder.preopen.files.stat(pathIn(folder, path))
  } catch (error) {
    if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
    throw error
  }
}
