import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { partOf, readRecord } from './budget.ts'
import { root } from './command.ts'
import { findTestFiles } from './test-files.ts'

/** Files whose tests run in one process. */
export type TestGroup = readonly [string, ...string[]]

/** The variable with the files of a group, as JSON. */
export const filesVariable = 'TEST_FILES'

/**
 * The CPU seconds that a group should take, if each file of a part takes as much as any other. A process spends one to two of them on
 * loading and compiling what it runs, and the last groups to begin, which are of small parts, should not take long.
 */
const groupSeconds = 30

/** The CPU seconds of a file of a part without a record. */
const unknownSeconds = 1

/** Files whose tests start processes and watch them, or change their own process: those of examples, and most across packages. */
const unsharedFolders = /^(?:examples|test\/(?!(?:ai|contract|loader|overlay)\/))/

/** Text in a file whose tests run with Node's own runner. */
const nodeTest = /^import .*\btest\b.* from 'node:test'/m

/** Text in a file that cannot share its process. */
const unshared = /^\/\/ In a process of its own:/m

/**
 * Groups the files of a part, so that they run in one process. A short file alone spends half of its time on loading and
 * compiling modules that the other files need too. Neighbors are in different groups, since the expensive files of a part are
 * often in the same folder.
 *
 * @param files paths from the root
 * @returns groups, those of the largest part first: a group that takes long should not begin last
 */
export async function groupFiles(files: readonly string[]): Promise<TestGroup[]> {
  const record = await readRecord()
  const parts = await Promise.all(
    Array.from(Map.groupBy(files, partOf), async ([part, ofPart]) => {
      const all = (await findTestFiles([part])).length
      const seconds = record.get(part) ?? all * unknownSeconds
      const alone: TestGroup[] = []
      const shared: string[] = []
      for (const file of ofPart) {
        if (await isShared(file)) shared.push(file)
        else alone.push([file])
      }
      const count = Math.ceil((shared.length * seconds) / all / groupSeconds)
      const groups = Map.groupBy(shared, (file) => shared.indexOf(file) % count)
      return { seconds, groups: [...alone, ...(groups.values() as Iterable<[string, ...string[]]>)] }
    }),
  )
  return parts.sort((a, b) => b.seconds - a.seconds).flatMap(({ groups }) => groups)
}

/** Whether the tests of a file run with tap. */
export async function usesTap(file: string): Promise<boolean> {
  return !nodeTest.test(await readFile(resolve(root, file), 'utf8'))
}

async function isShared(file: string): Promise<boolean> {
  if (unsharedFolders.test(file) || !(await usesTap(file))) return false
  return !unshared.test(await readFile(join(root, file), 'utf8'))
}
