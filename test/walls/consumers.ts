import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { Package } from './packages.ts'
import { type Declaration, everyName, type SourceProgram } from './program.ts'

/** Exports of the SDK that nothing in this repository uses, each with the reason why authors need it. */
const forAuthors: Readonly<Record<string, string>> = {
  RouteAccess: 'the type of `access` in the options of a route, which only the types of Fastify name',
}

const tokenMakers = ['defineService', 'defineRegistry']

/**
 * Checks that each export of the SDK has a consumer. A service or a registry has one outside of the package that provides it.
 * Anything else is used by a plugin, by an example or in the document for authors, or it is a type that such an export
 * names. An `import()` takes all names. The kernel is a consumer of sub-paths only, and tests are consumers of conformance suites only.
 *
 * @returns one line for each export without a consumer
 */
export function checkConsumers(root: string, packages: readonly Package[], program: SourceProgram): string[] {
  return packages
    .filter(({ kind }) => kind === 'sdk')
    .flatMap((sdk) => {
      const documented = readExamples(join(root, sdk.folder, 'README.md'))
      return Object.keys(sdk.manifest.exports ?? {}).flatMap((path) =>
        checkEntry(packages, program, sdk, path, documented),
      )
    })
}

/** Checks the exports of one path, such as `.` or `./archive`. */
function checkEntry(
  packages: readonly Package[],
  program: SourceProgram,
  { folder, manifest }: Package,
  path: string,
  documented: ReadonlySet<string>,
): string[] {
  const target = manifest.exports?.[path]
  if (typeof target !== 'object') return []
  const entry = posix.join(folder, target['nodekeep-source'] ?? '')
  const declarations = program.declarationsOf(entry)
  const imported = program.namesImportedFrom(posix.join(manifest.name, path))
  const users = usersOf(packages, imported, path.startsWith('./conformance/'))
  const isUsed = (name: string) =>
    documented.has(name) ||
    Object.hasOwn(forAuthors, name) ||
    [name, everyName]
      .flatMap((one) => [...(users.get(one) ?? [])])
      .some(({ kind }) => kind !== 'kernel' || path !== '.')
  const used = withNamedTypes(declarations, [...declarations.keys()].filter(isUsed))
  return [...declarations].flatMap(([name, { names }]) => {
    if (!used.has(name))
      return [`${entry}: no plugin, example or document uses "${name}"; do not export it here`]
    const isToken = tokenMakers.some((maker) => names.has(maker) && maker !== name)
    return isToken && !Object.hasOwn(forAuthors, name) && (users.get(name)?.size ?? 0) < 2
      ? [`${entry}: only one package uses the token "${name}"; a contract has a provider and a consumer`]
      : []
  })
}

/** The packages that import a name of the SDK. */
function usersOf(
  packages: readonly Package[],
  imported: ReadonlyMap<string, readonly string[]>,
  testsCount: boolean,
): Map<string, Set<Package>> {
  const users = new Map<string, Set<Package>>()
  for (const [file, names] of imported) {
    const user = packages.find(({ folder }) => file.startsWith(`${folder}/`))
    if (user === undefined || (file.startsWith(`${user.folder}/test/`) && !testsCount)) continue
    for (const name of names) users.set(name, (users.get(name) ?? new Set()).add(user))
  }
  return users
}

/** The names in the TypeScript of a document. */
function readExamples(file: string): Set<string> {
  const code = readFileSync(file, 'utf8').matchAll(/^```ts\n(.*?)^```/gms)
  return new Set([...code].flatMap(([, text = '']) => text.match(/\w+/g) ?? []))
}

/** Some names, and the types that their declarations name, and so on. */
function withNamedTypes(
  declarations: ReadonlyMap<string, Declaration>,
  names: readonly string[],
): ReadonlySet<string> {
  const found = new Set(names)
  for (const name of found) {
    for (const named of declarations.get(name)?.names ?? []) {
      if (declarations.get(named)?.isType) found.add(named)
    }
  }
  return found
}
