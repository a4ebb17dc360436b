import { type FileEntry, isNodekeepError, NodekeepError, type UserFiles } from '@nodekeep/plugin-sdk'
import { type ChangedFolder, pathIn } from './changed-folder.ts'

/**
 * Checks that everything that a program changed still is as the program found it, and the folders that it is in.
 *
 * @throws NodekeepError PRECONDITION_FAILED when somebody else changed any of it, VALIDATION_ERROR for a path that
 * the files don't take
 */
export async function checkUnchanged(folder: ChangedFolder): Promise<void> {
  const { preopen, revisions, removed, stored } = folder
  const { files } = preopen
  const gone = new Set(removed)
  if (removed.length + stored.length > 0) await expectFolder(files, preopen.path)
  for (const path of removed) {
    const entry = await entryAt(files, pathIn(folder, path))
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
    const entry = await entryAt(files, pathIn(folder, path))
    const isExpected = content === null ? entry?.type !== 'file' : entry?.revision === revisions.get(path)
    expect(isExpected, pathIn(folder, path))
  }
  for (const path of parentsOf(stored)) await expectFolder(files, pathIn(folder, path))
}

/** The folders that the program found and put something into: to store it would make those anew that are gone. */
function parentsOf(stored: ChangedFolder['stored']): Set<string> {
  const parents = new Set<string>()
  for (const { path } of stored) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      parents.add(path.slice(0, end))
    }
  }
  return parents.difference(new Set(stored.map(({ path }) => path)))
}

async function expectFolder(files: UserFiles, path: string): Promise<void> {
  expect((await entryAt(files, path))?.type === 'directory', path)
}

function expect(isUnchanged: boolean, path: string): void {
  if (isUnchanged) return
  throw new NodekeepError('PRECONDITION_FAILED', `"${path}" was changed by somebody else meanwhile.`)
}

async function entryAt(files: UserFiles, path: string): Promise<FileEntry | null> {
  try {
    return await files.stat(path)
  } catch (error) {
    if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
    throw error
  }
}
