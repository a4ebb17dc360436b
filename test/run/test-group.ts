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
 * The most CPU seconds that a group should take, if each file of a part takes as much as any other. A process spends one to two of them on
 * loading and compiling what it runs. A group that is much longer than others ends last, when nothing runs beside it.
 */
const groupSeconds = 60

/** The CPU seconds of a file of a part without a record. */
const unknownSeconds = 1

/** Files whose tests start processes and watch them, or change their own process: those of examples, and most across packages. */
const unsharedFolders =
  /^(?:examples|test\/(?!(?:ai|browser|contract|loader|overlay|readme|sign-in|wasm|web)\/))/

/** Text in a file whose tests run with Node's own runner. */
const nodeTest = /^import .*\btest\b.* from 'node:test'/m

/** Text in a file that cannot share its process. */
const unshared = /^\/\/ In a process of its own:/m

/**
 * Groups files, so that they run in one process. A short file alone spends half of its time on loading and compiling modules that the
 * other files need too. A large part is divided: neighbors are in different groups, since the expensive files of a part are often in the
 * same folder. Small parts are joined.
 *
 * @param files paths from the root
 * @returns groups, the longest first: a group that takes long should not begin last
 */
export async function groupFiles(files: readonly string[]): Promise<TestGroup[]> {
  const record = await readRecord()
  const secondsOfFile = new Map<string, number>()
  const secondsOf = (group: readonly string[]) =>
    group.reduce((sum, file) => sum + (secondsOfFile.get(file) ?? 0), 0)
  const longestFirst = (one: readonly string[], other: readonly string[]) => secondsOf(other) - secondsOf(one)
  const alone: TestGroup[] = []
  const pieces: TestGroup[] = []
  for (const [part, ofPart] of Map.groupBy(files, partOf)) {
    const recorded = record.get(part)
    const all = (await findTestFiles([part])).length
    const shared: string[] = []
    for (const file of ofPart) {
      secondsOfFile.set(file, recorded === undefined ? unknownSeconds : recorded / all)
      if (await isShared(file)) shared.push(file)
      else alone.push([file])
    }
    const count = Math.ceil(secondsOf(shared) / groupSeconds)
    const divided = Map.groupBy(shared, (file) => shared.indexOf(file) % count)
    pieces.push(...(divided.values() as Iterable<[string, ...string[]]>))
  }
  const joined: [string, ...string[]][] = []
  for (const piece of pieces.sort(longestFirst)) {
    const fitting = joined.find((group) => secondsOf([...group, ...piece]) <= groupSeconds)
    if (fitting) fitting.push(...piece)
    else joined.push([...piece])
  }
  return [...joined, ...alone].sort(longestFirst)
}

/** Whether the tests of a file run with tap. */
export async function usesTap(file: string): Promise<boolean> {
  return !nodeTest.test(await readFile(resolve(root, file), 'utf8'))
}

async function isShared(file: string): Promise<boolean> {
  if (unsharedFolders.test(file) || !(await usesTap(file))) return false
  return !unshared.test(await readFile(join(root, file), 'utf8'))
}
