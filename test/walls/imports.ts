import { isBuiltin } from 'node:module'
import { posix } from 'node:path'
import { type ImportGraph, ownerOf, sourceOf } from './import-graph.ts'
import type { Package, PackageKind } from './packages.ts'
import type { SourceImports, SourceProgram } from './program.ts'
import { reaches, type Side, sidesOf } from './sides.ts'

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
  scaffold: [],
}

/** The facts that the check of one import needs. */
interface Sources {
  readonly packages: readonly Package[]
  /** The entries of the SDK that browser code may import. */
  readonly browserEntries: readonly string[]
  /** The entries of the SDK that need nothing but modules of Node. Clients and supervisors may import them too. */
  readonly nodeEntries: readonly string[]
  sideOf(owner: Package, file: string): Side
}

/**
 * Checks the imports between packages, and between the sides of a package. A package imports its own files and the libraries
 * that its package.json declares. Of this repository, the kernel, plugins and examples import the SDK; the SDK imports nothing.
 * Clients, and code for clients and browsers in a plugin, import the entry `/client` of plugins. Such code has nothing else of
 * Nodekeep but the parts of the SDK that run in browsers, for clients also those that need nothing but Node, and shares only
 * `src/protocol` with the code of the node. A supervisor has nothing else but the parts of the SDK that need nothing but Node. Tests may also import `@nodekeep/kernel/testing` and development dependencies, those
 * of the root included. So may browser code to which no export leads: it is published in a bundle. Another plugin that such code alone
 * imports must be a development dependency, so that nobody installs it who does not use it. The tests in the root's `test/` import any
 * package by its name.
 *
 * @returns one line for each import that breaks a rule
 */
export function checkImports(
  packages: readonly Package[],
  { files, browserFiles, browserKnowsNode }: SourceProgram,
  graph: ImportGraph,
): string[] {
  const sources = {
    packages,
    browserEntries: sdkEntries(packages, browserFiles),
    nodeEntries: sdkEntries(packages, needingOnlyNode(packages, files, graph)),
    sideOf: sidesOf(files),
  }
  const breaches = files
    .filter(({ file }) => !file.includes('/fixtures/'))
    .flatMap((file) => checkFile(sources, file))
  breaches.push(...checkPluginDependencies(sources, files))
  return browserKnowsNode
    ? [
        ...breaches,
        "tsconfig.browser.json: browser code imports Node's types; `tsc -p tsconfig.browser.json --explainFiles` names the import",
      ]
    : breaches
}

/** Returns the files that import nothing but modules of Node, and other such files. The whole SDK is none of them. */
function needingOnlyNode(
  packages: readonly Package[],
  files: readonly SourceImports[],
  graph: ImportGraph,
): ReadonlySet<string> {
  const found = new Set(
    files.flatMap(({ file, imports }) =>
      imports.every((each) => isBuiltin(each) || each.startsWith('.')) ? file : [],
    ),
  )
  for (const { kind, folder } of packages) {
    if (kind === 'sdk') found.delete(posix.join(folder, 'src/index.ts'))
  }
  for (let size = -1; size !== found.size; ) {
    size = found.size
    for (const file of found) if (!graph.get(file)?.isSubsetOf(found)) found.delete(file)
  }
  return found
}

/** The entries of the SDK whose source is among some files. */
function sdkEntries(packages: readonly Package[], sources: ReadonlySet<string>): string[] {
  return packages
    .filter(({ kind }) => kind === 'sdk')
    .flatMap(({ folder, manifest }) =>
      Object.entries(manifest.exports ?? {}).flatMap(([path, target]) => {
        const source = sourceOf(folder, target)
        return source && sources.has(source) ? [posix.join(manifest.name, path)] : []
      }),
    )
}

/** A plugin needs the packages of other plugins for code outside of a node only, which loads their entries `/client`. */
function* checkPluginDependencies(
  { packages, sideOf }: Sources,
  files: readonly SourceImports[],
): Iterable<string> {
  for (const owner of packages.filter(({ kind }) => kind === 'plugin')) {
    const { dependencies, peerDependencies, optionalDependencies } = owner.manifest
    const loaded = new Set(
      files
        .filter(({ file }) => ownerOf(packages, file) === owner && !isBundled(owner, sideOf(owner, file)))
        .flatMap(({ file, imports }) => (file.startsWith(`${owner.folder}/src/`) ? imports : []))
        .map(packageName),
    )
    for (const { kind, manifest } of packages) {
      const declared = [dependencies, peerDependencies, optionalDependencies].some(
        (each) => each?.[manifest.name],
      )
      if (kind === 'plugin' && declared && !loaded.has(manifest.name))
        yield `${owner.folder}/package.json: make "${manifest.name}" a development dependency, since no published code outside of a bundle loads it`
    }
  }
}

/** Whether the code of a side is published in a bundle only. */
function isBundled({ manifest }: Package, side: Side): boolean {
  const client = manifest.exports?.['./client']
  const source = typeof client === 'string' ? client : client?.['nodekeep-source']
  return side === 'browser' && source?.startsWith('./src/browser/') !== true
}

function checkFile(sources: Sources, { file, imports }: SourceImports): string[] {
  const owner = ownerOf(sources.packages, file)
  const breaches = imports.map((specifier) => checkImport(sources, owner, file, specifier))
  return breaches.filter((breach) => breach !== undefined).map((breach) => `${file}: ${breach}`)
}

function checkImport(sources: Sources, owner: Package, file: string, specifier: string): string | undefined {
  const side = sources.sideOf(owner, file)
  if (isBuiltin(specifier)) {
    if (side === 'browser' || side === 'protocol') return `"${specifier}" is not there in a browser`
    return specifier.startsWith('node:') ? undefined : `write "node:${specifier}" for "${specifier}"`
  }
  if (specifier.startsWith('.')) return checkRelative(sources, owner, file, specifier)
  if (specifier.startsWith('#')) {
    return owner.manifest.imports?.[specifier]
      ? undefined
      : `"${specifier}" is not among the imports of its package.json`
  }
  const name = packageName(specifier)
  if (name === owner.manifest.name && side === 'node') return undefined
  const inTest = owner.kind === 'root' || file.startsWith(`${owner.folder}/test/`)
  if (sources.packages.some(({ manifest }) => manifest.name === name)) {
    if (owner.kind === 'root') return undefined
    if (!isOffered(sources, owner, side, inTest, specifier)) {
      return `"${specifier}" is out of bounds: ${inTest ? 'a test' : 'a source'} of ${kindName(owner, side)} must not import it`
    }
  }
  return name === owner.manifest.name ||
    declares(sources.packages, owner, name, inTest || isBundled(owner, side))
    ? undefined
    : `"${name}" is not declared in ${posix.join(owner.folder, 'package.json')}`
}

/** Whether files of a side may import an entry of a package of this repository. */
function isOffered(
  { browserEntries, nodeEntries }: Sources,
  owner: Package,
  side: Side,
  inTest: boolean,
  specifier: string,
): boolean {
  const name = packageName(specifier)
  if (side === 'supervisor') return nodeEntries.includes(specifier)
  if (side !== 'node') {
    if (side === 'client' && nodeEntries.includes(specifier)) return true
    return browserEntries.includes(specifier) || (side !== 'protocol' && specifier === `${name}/client`)
  }
  if (owner.kind === 'client' && specifier === `${name}/client`) return true
  return sources[owner.kind].includes(name) || (inTest && (name === sdk || specifier === testing))
}

function checkRelative(
  sources: Sources,
  owner: Package,
  file: string,
  specifier: string,
): string | undefined {
  const target = posix.join(posix.dirname(file), specifier)
  const left = target.startsWith('../') || (owner.folder !== '' && !target.startsWith(`${owner.folder}/`))
  const entered = sources.packages.some(
    ({ folder }) => folder !== owner.folder && folder && target.startsWith(`${folder}/`),
  )
  if (left || entered) return `"${specifier}" reaches into another package; import packages by their names`
  if (!file.startsWith(`${owner.folder}/src/`)) return undefined
  const [from, to] = [sources.sideOf(owner, file), sources.sideOf(owner, target)]
  return reaches[from].includes(to)
    ? undefined
    : `"${specifier}" is code of another side (${from} imports ${to})`
}

function declares(packages: readonly Package[], owner: Package, name: string, toDevelop: boolean): boolean {
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = owner.manifest
  const root = packages.find(({ kind }) => kind === 'root')?.manifest.devDependencies
  const development = toDevelop ? [devDependencies, root] : []
  return [dependencies, peerDependencies, optionalDependencies, ...development].some(
    (declared) => declared?.[name],
  )
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function kindName({ kind, folder }: Package, side: Side): string {
  if (side !== 'node') return `the ${side} side of ${folder}`
  return kind === 'sdk' ? 'the SDK' : kind === 'kernel' ? 'the kernel' : `the ${kind} ${folder}`
}
