import { posix } from 'node:path'
import type { Package } from './packages.ts'
import type { SourceImports } from './program.ts'

/** The files of the repository that each file imports, those of types and dynamic imports included. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>

/** Follows the imports of files, also by the name of a package. */
export function importGraph(packages: readonly Package[], files: readonly SourceImports[]): ImportGraph {
  return new Map(
    files.map(({ file, imports }) => [
      file,
      new Set(imports.flatMap((specifier) => resolveImport(packages, file, specifier) ?? [])),
    ]),
  )
}

/** The source file to which an import leads; `undefined` for a library. */
function resolveImport(packages: readonly Package[], file: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(file), specifier)
  if (specifier.startsWith('#')) {
    const { folder, manifest } = ownerOf(packages, file)
    return sourceOf(folder, manifest.imports?.[specifier])
  }
  const named = packages.find(
    ({ manifest: { name } }) => specifier === name || specifier.startsWith(`${name}/`),
  )
  return (
    named &&
    sourceOf(named.folder, named.manifest.exports?.[`.${specifier.slice(named.manifest.name.length)}`])
  )
}

/** The source of an entry in `exports` or `imports` of a package. */
export function sourceOf(folder: string, target: unknown): string | undefined {
  const source = (target as Record<string, string> | undefined)?.['nodekeep-source']
  return source === undefined ? undefined : posix.join(folder, source)
}

/** The package in whose folder a file is. The root has all other files. */
export function ownerOf(packages: readonly Package[], file: string): Package {
  const owner = packages.find(({ folder }) => folder === '' || file.startsWith(`${folder}/`))
  if (!owner) throw new Error('The root is not among the packages.')
  return owner
}
