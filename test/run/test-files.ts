import { glob, stat } from 'node:fs/promises'
import { root } from './command.ts'

const ofPackages =
  '{plugin-sdk/test,kernel/test,create-nodekeep-plugin/test,plugins/*/test,examples/*/test,test/{contract,node}}'
const ofWhole = 'test/!(contract|node)'
/** The tests of `npm test`, of `npm run test:whole`, or of `npm run test:all`, which are both. */
export type Half = 'packages' | 'whole' | 'all'

const exclude = ['**/node_modules/**', '**/fixtures/**', '**/dist/**']

/** Finds the test files of a half, or of both. Returns their paths from the root of the repository, in order. */
export function findTests(half: Half): Promise<string[]> {
  const patterns = { packages: [ofPackages], whole: [ofWhole], all: [ofPackages, ofWhole] }[half]
  return find(patterns.map(inFolder))
}

/**
 * Finds test files, of both halves.
 *
 * @param paths files, folders or patterns from the root of the repository
 * @returns their paths from the root, in order
 */
export async function findTestFiles(paths: readonly string[]): Promise<string[]> {
  return find(await Promise.all(paths.map(pattern)))
}

async function find(patterns: string[]): Promise<string[]> {
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
