import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import type { Package, PackageKind } from './packages.ts'
import type { SourceImports } from './program.ts'

const sdk = '@nodekeep/plugin-sdk'
const testing = '@nodekeep/kernel/testing'

/** The packages of this repository that the sources of a package may import. */
const sources: Record<PackageKind, readonly string[]> = {
  root: [],
  sdk: [],
  kernel: [sdk],
  plugin: [sdk],
  example: [sdk],
  client: [],
}

/**
 * Checks the imports between packages. A package imports its own files and the libraries that its package.json declares. Of
 * this repository, the kernel, plugins and examples import the SDK; the SDK imports nothing. Clients import the entry
 * `/client` of plugins. Tests may also import `@nodekeep/kernel/testing` and development dependencies, those of the root
 * included. The tests in the root's `test/` import any package by its name.
 *
 * @returns one line for each import that breaks a rule
 */
export function checkImports(packages: readonly Package[], files: readonly SourceImports[]): string[] {
  return files.filter(({ file }) => !file.includes('/fixtures/')).flatMap((file) => checkFile(packages, file))
}

function checkFile(packages: readonly Package[], { file, imports }: SourceImports): string[] {
  const owner = packages.find(({ folder }) => folder === '' || file.startsWith(`${folder}/`))
  if (!owner) return []
  const breaches = imports.map((specifier) => checkImport(packages, owner, file, specifier))
  return breaches.filter((breach) => breach !== undefined).map((breach) => `${file}: ${breach}`)
}

function checkImport(
  packages: readonly Package[],
  owner: Package,
  file: string,
  specifier: string,
): string | undefined {
  if (isBuiltin(specifier)) {
    return specifier.startsWith('node:') ? undefined : `write "node:${specifier}" for "${specifier}"`
  }
  if (specifier.startsWith('.')) return checkRelative(packages, owner, file, specifier)
  if (specifier.startsWith('#')) {
    return owner.manifest.imports?.[specifier]
      ? undefined
      : `"${specifier}" is not among the imports of its package.json`
  }
  const name = packageName(specifier)
  if (name === owner.manifest.name) return undefined
  const inTest = owner.kind === 'root' || file.startsWith(`${owner.folder}/test/`)
  if (packages.some(({ manifest }) => manifest.name === name)) {
    if (owner.kind === 'root') return undefined
    const offered = owner.kind === 'client' ? [`${name}/client`] : []
    const allowed = inTest
      ? [...offered, ...sources[owner.kind], sdk, testing]
      : [...offered, ...sources[owner.kind]]
    if (!allowed.some((entry) => specifier === entry || (entry === sdk && name === sdk))) {
      return `"${specifier}" is out of bounds: ${inTest ? 'a test' : 'a source'} of ${kindName(owner)} must not import it`
    }
  }
  return declares(packages, owner, name, inTest)
    ? undefined
    : `"${name}" is not declared in ${posix.join(owner.folder, 'package.json')}`
}

function checkRelative(
  packages: readonly Package[],
  owner: Package,
  file: string,
  specifier: string,
): string | undefined {
  const target = posix.join(posix.dirname(file), specifier)
  const left = target.startsWith('../') || (owner.folder !== '' && !target.startsWith(`${owner.folder}/`))
  const entered = packages.some(
    ({ folder }) => folder !== owner.folder && folder && target.startsWith(`${folder}/`),
  )
  return left || entered
    ? `"${specifier}" reaches into another package; import packages by their names`
    : undefined
}

function declares(packages: readonly Package[], owner: Package, name: string, inTest: boolean): boolean {
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = owner.manifest
  const root = packages.find(({ kind }) => kind === 'root')?.manifest.devDependencies
  const tests = inTest ? [devDependencies, root] : []
  return [dependencies, peerDependencies, optionalDependencies, ...tests].some((declared) => declared?.[name])
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function kindName({ kind, folder }: Package): string {
  return kind === 'sdk' ? 'the SDK' : kind === 'kernel' ? 'the kernel' : `the ${kind} ${folder}`
}
