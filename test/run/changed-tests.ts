/**
 * `npm test -- --changed [BASE]`: the test files that a change reaches.
 *
 * - A file of code reaches the tests that import it, directly or through other files, also by the name of a package.
 * - A test that names a plugin, as `'files'` or `files:`, imports its entry. A test that extends a preset names all plugins.
 * - A test that imports `node:child_process` imports the command line. A test that imports `test/release/build.ts` imports
 *   every package.
 * - All else (package.json, pages, bundles, and code that nothing imports, such as a thread) stands for its package: it reaches
 *   the package's tests, and all that imports any of its files. In a folder of tests it reaches the tests of that folder.
 * - A document reaches the tests of its package that have its name in their text; one of the root, or of the root's tests, all such.
 * - All else outside of packages, such as `package-lock.json` and `config`, reaches every test.
 */
import { existsSync, readFileSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import { type Package, readPackages } from '../walls/packages.ts'
import { type SourceImports, withProgram } from '../walls/program.ts'
import { changedFiles } from '../walls/reached.ts'
import { partOf } from './budget.ts'
import { root } from './command.ts'

/** A repository, as far as the choice of tests needs it. */
interface Sources {
  readonly packages: readonly Package[]
  readonly files: readonly SourceImports[]
  readonly textOf: (file: string) => string
}

/**
 * Chooses the tests that a change reaches.
 *
 * @param base the commit with which the work is compared, where it forked from HEAD
 * @param tests the test files to choose from
 * @returns the files, and one line that says why
 * @throws Error if git refuses
 */
export async function changedTests(base: string, tests: readonly string[]) {
  const changed = await changedFiles(base)
  const textOf = (file: string) =>
    existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : ''
  const reached = withProgram(root, ({ files }) =>
    reachedTests(changed, tests, { packages: readPackages(root), files, textOf }),
  )
  const files = [...reached.keys()].sort()
  const causes = Map.groupBy(reached, ([, cause]) => cause)
  const reasons = Array.from(causes, ([cause, found]) => {
    const parts = Map.groupBy(found, ([file]) => partOf(file))
    return `${cause} reaches ${Array.from(parts, ([part, { length }]) => `${part} (${length})`).join(', ')}`
  })
  const counts = `${files.length} of ${tests.length} test files; ${changed.length} files changed since ${base}`
  return { files, reason: [counts, ...reasons].join('; ') }
}

/** Returns the test files that changed files reach, each with the first of these that reaches it. */
export function reachedTests(
  changed: readonly string[],
  tests: readonly string[],
  sources: Sources,
): Map<string, string> {
  const importers = importersOf(sources)
  const owner = (file: string) => ownerOf(sources.packages, file)
  const inPackage = (folder: string) =>
    [...importers.keys(), ...tests].filter((file) => owner(file) === folder)
  /** The next files that a change reaches through a file. */
  const next = (file: string): Iterable<string> => {
    const found = importers.get(file)
    if (found?.size) return found
    if (tests.includes(file)) return []
    const folder = owner(file)
    if (file.endsWith('.md')) {
      return sources.files
        .map((each) => each.file)
        .filter((each) => isOfTests(each) && (folder === '' || ['', folder].includes(owner(each))))
        .filter((each) => sources.textOf(each).includes(basename(file)))
    }
    if (isOfTests(file)) return tests.filter((test) => partOf(test) === partOf(file))
    return folder === '' ? tests : inPackage(folder)
  }
  const reached = new Map<string, string>()
  const seen = new Set<string>()
  for (const cause of changed) {
    const waiting = [cause]
    for (const file of waiting) {
      if (seen.has(file)) continue
      seen.add(file)
      if (tests.includes(file)) reached.set(file, cause)
      waiting.push(...next(file))
    }
  }
  return reached
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
      Object.values(manifest.imports ?? {}).flatMap((to) => sourceOf(folder, to)),
    )
  const names = new RegExp(`(?<![\\w-])(${plugins.map(({ id }) => id).join('|')})(?=['"\`]|:)`, 'g')
  for (const { file, imports } of files) {
    const targets = imports.flatMap((specifier) => resolve(packages, file, specifier))
    for (const target of targets) add(target, file)
    if (!isOfTests(file)) continue
    if (imports.includes('node:child_process')) for (const command of commands) add(command, file)
    const text = textOf(file)
    const isOfAll = /extends['"]?:|nodekeep:/.test(text) || targets.includes('test/release/build.ts')
    const named = new Set(Array.from(text.matchAll(names), ([, id]) => id))
    for (const { id, entry } of plugins) if (isOfAll || named.has(id)) add(entry, file)
  }
  return importers
}

/** The source files to which an import leads; none for a library. */
function resolve(packages: readonly Package[], file: string, specifier: string): string[] {
  if (specifier.startsWith('.')) return [posix.join(posix.dirname(file), specifier)]
  if (specifier.startsWith('#')) {
    const owner = packages.find(({ folder }) => folder === ownerOf(packages, file))
    return owner ? sourceOf(owner.folder, owner.manifest.imports?.[specifier]) : []
  }
  const named = packages.find(
    ({ manifest: { name } }) => specifier === name || specifier.startsWith(`${name}/`),
  )
  if (named === undefined) return []
  return sourceOf(named.folder, named.manifest.exports?.[`.${specifier.slice(named.manifest.name.length)}`])
}

function sourceOf(folder: string, target: unknown): string[] {
  const source =
    typeof target === 'object' && target !== null && 'nodekeep-source' in target
      ? target['nodekeep-source']
      : null
  return typeof source === 'string' ? [posix.join(folder, source)] : []
}

function ownerOf(packages: readonly Package[], file: string): string {
  return packages.find(({ folder }) => folder !== '' && file.startsWith(`${folder}/`))?.folder ?? ''
}

/** Whether a file is one of a test folder. */
function isOfTests(file: string): boolean {
  return /^(?:[^/]+\/){0,2}test\//.test(file)
}
