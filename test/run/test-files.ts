import { glob, stat } from 'node:fs/promises'
import { root } from './command.ts'

const everything = '{plugin-sdk,kernel,test,plugins/*,examples/*}'
const exclude = ['**/node_modules/**', '**/fixtures/**', '**/dist/**']

/**
 * Finds test files.
 *
 * @param paths files, folders or patterns from the root of the repository; an empty list means all
 * @returns their paths from the root, in order
 */
export async function findTestFiles(paths: readonly string[]): Promise<string[]> {
  const patterns = paths.length > 0 ? await Promise.all(paths.map(pattern)) : [inFolder(everything)]
  const found = new Set<string>()
  for await (const file of glob(patterns, { cwd: root, exclude })) found.add(file)
  return [...found].sort()
}

/** Turns the name of a folder into a pattern, which is the only form that `glob` takes. */
async function pattern(path: string): Promise<string> {
  const folder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  return folder ? inFolder(path.replace(/\/$/, '')) : path
}

function inFolder(folder: string): string {
  return `${folder}/**/*.test.ts`
}
