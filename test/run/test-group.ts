import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { root } from './command.ts'

/** Files whose tests run in one process. */
export type TestGroup = readonly [string, ...string[]]

/** The variable with the files of a group, as JSON. */
export const filesVariable = 'TEST_FILES'

const endMark = 'end of '

/** The name of the test that follows the last test of a file, and so marks the end of the file. */
export function endOf(file: string): string {
  return endMark + file
}

/** The file whose end a test of this name marks. */
export function endedBy(name: string): string | undefined {
  return name.startsWith(endMark) ? name.slice(endMark.length) : undefined
}

/** The largest number of files in a group. With more, one long group would run on after all others have ended. */
const maxFiles = 12

/** Files whose tests start processes and watch them, or change their own process. */
const unsharedFolders = /^(?:test|examples|plugins\/wasm[^/]*)\//

/**
 * Text in a file that cannot share its process: it sets options of tap, uses another runner, or says so in a comment. After a
 * teardown of a whole file, tap would end while the next file is loaded.
 */
const unshared =
  /^(?:t\.(?:jobs|setTimeout|teardown)\b|import .* from 'node:test'|\/\/ In a process of its own:)/m

/**
 * Groups the files of a folder, so that they run in one process. A short file alone spends half of its time on loading and
 * compiling modules that the other files need too.
 *
 * @param files paths from the root
 * @returns groups in the order of their first files
 */
export async function groupFiles(files: readonly string[]): Promise<TestGroup[]> {
  const groups: [string, ...string[]][] = []
  const open = new Map<string, [string, ...string[]]>()
  for (const file of files) {
    const folder = dirname(file)
    const group = open.get(folder)
    const shared = !unsharedFolders.test(file) && !unshared.test(await readFile(join(root, file), 'utf8'))
    if (shared && group !== undefined && group.length < maxFiles) {
      group.push(file)
      continue
    }
    const begun: [string, ...string[]] = [file]
    groups.push(begun)
    if (shared) open.set(folder, begun)
  }
  return groups
}
