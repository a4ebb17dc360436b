import { readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/**
 * Removes the file in which former releases kept their index: it has names of files, also of users who are erased now. After a rollback of
 * an update, such a release makes it anew.
 */
export async function removeFormerIndex(journalFile: string): Promise<void> {
  const folder = dirname(journalFile)
  for (const name of await readdir(folder)) if (name.startsWith('index.sqlite')) await rm(join(folder, name))
}
