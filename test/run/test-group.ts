import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { root } from './command.ts'

/** Files whose tests run in one process. */
export type TestGroup = readonly [string, ...string[]]

/** The variable that tells the process of a group its files, as JSON. */
export const filesVariable = 'TEST_FILES'

const endMark = 'end of '

/** The name of the test that stands behind those of a file. */
export function endOf(file: string): string {
  return endMark + file
}

/** The file whose end a test of this name is. */
export function endedBy(name: string): string | undefined {
  return name.startsWith(endMark) ? name.slice(endMark.length) : undefined
}

/** Most files of a group: a long one keeps the other processes waiting at the end. */
const most = 12

/** Their tests start processes, and look at what becomes of those and of their own. */
const apart = /^(?:test|examples|plugins\/wasm[^/]*|kernel\/test\/cli)\//

/** What a file says that cannot share its process: what it sets for all tests, another runner, or that it cannot. */
const unshared = /^(?:t\.(?:jobs|setTimeout)\b|import .* from 'node:test'|\/\/ In a process of its own:)/m

/**
 * Puts files together that can share a process: those of one folder. Half of the time of a short file goes into loading
 * and compiling what the others need, too.
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
    const shared = !apart.test(file) && !unshared.test(await readFile(join(root, file), 'utf8'))
    if (shared && group !== undefined && group.length < most) {
      group.push(file)
      continue
    }
    const begun: [string, ...string[]] = [file]
    groups.push(begun)
    if (shared) open.set(folder, begun)
  }
  return groups
}
