/**
 * The programs that a change reaches: the test files of `npm test -- --changed [BASE]`, and the benches of
 * `npm run bench -- --changed [BASE]`.
 *
 * - A file of code reaches the programs that import it, directly or through other files, also by the name of a package. The imports
 *   are those of the walls.
 * - A file that names a file of its package in a string, such as a thread or a fixture, imports it.
 * - A file of tests that names a plugin, as `'files'` or `files: true`, imports its entry. One that extends a preset names all plugins.
 * - A file of tests that imports `node:child_process` imports the command line. One that imports `test/release/build.ts` imports
 *   every package.
 * - All else (package.json, pages, bundles, and code that nothing imports) stands for its package: it reaches the package's tests,
 *   and all that imports any of its files. In a folder of tests it reaches the programs of that folder.
 * - A document reaches the tests of its package that have its name in their text; one of the root, or of the root's tests, all such.
 * - All else outside of packages, such as `package-lock.json` and `config`, reaches every program.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { importGraph, ownerOf, sourceOf } from '../walls/import-graph.ts'
import { type Package, readPackages } from '../walls/packages.ts'
import { type SourceImports, withProgram } from '../walls/program.ts'
import { partOf } from './budget.ts'
import { root } from './command.ts'

/** A repository, as far as it decides what a change reaches. */
interface Sources {
  readonly packages: readonly Package[]
  readonly files: readonly SourceImports[]
  readonly textOf: (file: string) => string
}

/**
 * Returns the programs that a change of the work reaches, each with the first changed file that reaches it.
 *
 * @param base the commit with which the work is compared, where it forked from HEAD
 * @param programs the test files or benches to choose from
 * @throws Error with the message of git, for example if there is no such commit
 */
export async function reachedByChange(
  base: string,
  programs: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const changed = await changedFiles(base)
  const textOf = (file: string) =>
    existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : ''
  return withProgram(root, ({ files }) =>
    reached(changed, programs, { packages: readPackages(root), files, textOf }),
  )
}

/** Returns the lines that say which changed file reaches which parts. */
export function reasons(reached: ReadonlyMap<string, string>): string[] {
  const causes = Map.groupBy(reached, ([, cause]) => cause)
  return Array.from(causes, ([cause, found]) => {
    const parts = Map.groupBy(found, ([program]) => partOf(program))
    return `${cause} reaches ${Array.from(parts, ([part, { length }]) => `${part} (${length})`).join(', ')}`
  })
}

/**
 * Returns the files that differ from a commit: those of commits since the last common one, and those that are not committed.
 *
 * @param base a commit, such as `origin/main`
 * @throws Error with the message of git, for example if there is no such commit
 */
export async function changedFiles(base: string, repository: string = root): Promise<string[]> {
  const git = async (...args: readonly string[]) => {
    const { stdout } = await promisify(execFile)('git', args, { cwd: repository, maxBuffer: 2 ** 26 })
    return stdout
  }
  const common = (await git('merge-base', base, 'HEAD')).trim()
  const differing = await git('diff', '--name-only', '--no-renames', '-z', common)
  const untracked = await git('ls-files', '--others', '--exclude-standard', '-z')
  return [...new Set(`${differing}${untracked}`.split('\0'))].filter((name) => name !== '').sort()
}

/** Returns the programs that changed files reach, each with the first of these that reaches it. */
export function reached(
  changed: readonly string[],
  programs: readonly string[],
  sources: Sources,
): Map<string, string> {
  const importers = importersOf(sources)
  const folderOf = (file: string) => ownerOf(sources.packages, file).folder
  /** The next files that a change reaches through a file. */
  const next = (file: string): Iterable<string> => {
    const found = importers.get(file)
    if (found?.size) return found
    if (isProgram.test(file)) return []
    const folder = folderOf(file)
    if (file.endsWith('.md')) {
      return sources.files
        .map((each) => each.file)
        .filter((each) => isOfTests(each) && (folder === '' || ['', folder].includes(folderOf(each))))
        .filter((each) => sources.textOf(each).includes(basename(file)))
    }
    if (isOfTests(file)) return programs.filter((program) => partOf(program) === partOf(file))
    if (folder === '') return programs
    return [...importers.keys(), ...programs].filter((each) => folderOf(each) === folder)
  }
  const found = new Map<string, string>()
  const seen = new Set<string>()
  for (const cause of changed) {
    const waiting = [cause]
    for (const file of waiting) {
      if (seen.has(file)) continue
      seen.add(file)
      if (programs.includes(file)) found.set(file, cause)
      waiting.push(...next(file))
    }
  }
  return found
}

/** The files that import each file. */
function importersOf({ packages, files, textOf }: Sources): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>(files.map(({ file }) => [file, new Set()]))
  const add = (target: string, file: string) =>
    importers.set(target, (importers.get(target) ?? new Set()).add(file))
  const plugins = packages.flatMap(({ folder, manifest: { nodekeep } }) =>
    nodekeep?.id && nodekeep.source ? [{ id: nodekeep.id, entry: posix.join(folder, nodekeep.source) }] : [],
  )
  const commands = packages
    .filter(({ kind }) => kind === 'kernel')
    .flatMap(({ folder, manifest }) =>
      Object.values(manifest.imports ?? {}).flatMap((to) => sourceOf(folder, to) ?? []),
    )
  const ids = plugins.map(({ id }) => id).join('|')
  const pluginNames = new RegExp(`(?<![\\w-])(${ids})(?=['"\`]|: (?:true|{))`, 'g')
  const graph = importGraph(packages, files)
  const filesNamed = Map.groupBy(graph.keys(), (file) => basename(file))
  for (const { file, imports } of files) {
    const targets = graph.get(file) ?? new Set()
    const text = textOf(file).replaceAll(/^ *(\/?\*|\/\/).*$/gm, '')
    for (const target of targets) add(target, file)
    for (const name of namesOfFiles(text)) {
      const beside = posix.join(posix.dirname(file), name)
      const { folder } = ownerOf(packages, file)
      const named = (filesNamed.get(basename(name)) ?? []).filter(
        (each) => ownerOf(packages, each).folder === folder && each.endsWith(posix.join('/', name)),
      )
      for (const target of importers.has(beside) ? [beside] : named) add(target, file)
    }
    if (!isOfTests(file)) continue
    if (imports.includes('node:child_process')) for (const command of commands) add(command, file)
    const isOfAll =
      /extends['"]?:|['"`]nodekeep:|\bdefault\.json\b/.test(text) || targets.has('test/release/build.ts')
    const named = new Set(Array.from(text.matchAll(pluginNames), ([, id]) => id))
    for (const { id, entry } of plugins) if (isOfAll || named.has(id)) add(entry, file)
  }
  return importers
}

/** The names of files of code in the strings of a text, and the modules that it names without their extension. */
function namesOfFiles(text: string): string[] {
  const strings = text.matchAll(/['"`]([\w./-]+\.[jt]s)['"`]/g)
  const modules = text.matchAll(/\bmoduleBeside\([^,]+, '([\w./-]+)'/g)
  return [...Array.from(strings, ([, name = '']) => name), ...Array.from(modules, ([, name]) => `${name}.ts`)]
}

/** Programs that nothing imports. */
const isProgram = /\.(?:test|bench|faults)\.ts$/

/** Whether a file is one of a test folder. */
function isOfTests(file: string): boolean {
  return /^(?:[^/]+\/){0,2}test\//.test(file)
}
