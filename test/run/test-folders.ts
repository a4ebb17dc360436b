import { rmSync } from 'node:fs'
import { chmod, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { root } from './command.ts'
import { makeTemporary } from './run-folder.ts'

/**
 * Lets tap keep the folders of tests (`t.testdir`). It would remove a folder before the teardowns of its test, if the test asked for the folder
 * first: under a node that still runs. So they are removed when all tests of a file have ended.
 */
export const keepFolders = { TAP_SAVE_FIXTURE: '1' }

/** Names the folder in which tests have their folders. */
const variable = 'TEST_FOLDERS'

/**
 * Makes a folder in a file system in memory in which tests have their folders, and returns the variables with which they use both. What is in
 * such a folder finds packages as it does in the repository. All of it is removed when the run ends.
 */
export async function useMemory(memory: string): Promise<Readonly<Record<string, string>>> {
  const folder = await makeTemporary(join(memory, 'nodekeep-tests-'))
  // Programs that tests start may run as another user, as in the repository.
  await chmod(folder, 0o755)
  for (const name of ['node_modules', 'package.json']) await symlink(join(root, name), join(folder, name))
  return { TMPDIR: memory, [variable]: folder }
}

/**
 * Lets the tests of a file have their folders in one of this file.
 *
 * @returns removes it
 */
export function placeFolders(t: Test, file: string): () => void {
  const folder = join(process.env[variable] ?? join(root, '.tap/fixtures'), file.replaceAll('/', '-'))
  t.testdirName = join(folder, 'test')
  return () => rmSync(folder, { recursive: true, force: true })
}
