import { existsSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import type { Package } from '../walls/packages.ts'

/** The parts of `package-lock.json` that say which libraries a package needs, and where npm has put them. */
export interface LockFile {
  /** By the path from the root, such as `node_modules/tar`. */
  readonly packages: Readonly<Record<string, LockEntry>>
}

interface LockEntry {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  /** Whether the entry leads to a folder of the repository, `resolved`. */
  readonly link?: boolean
  readonly resolved?: string
}

/** A library in the repository, and its place in a release. Both are paths from the root, `/`-separated. */
interface PlacedLibrary {
  readonly from: string
  readonly to: string
}

/**
 * Finds the libraries that packages of this repository need in production, in the versions of the lock file. Libraries keep
 * their places relative to the packages that load them. So each package finds the versions with which it was tested.
 *
 * @param root the folder of the lock file, with the libraries that `npm ci` installed
 * @throws an error if a library is not installed, or if a package needs a package of the repository that is not given
 */
export function productionLibraries(
  root: string,
  { packages: entries }: LockFile,
  packages: readonly Package[],
): PlacedLibrary[] {
  const places = new Map(
    packages.map(({ folder, manifest }) => [folder, posix.join('node_modules', manifest.name)]),
  )
  const found = new Set<string>()
  const visit = (path: string) => {
    for (const { name, optional } of needs(entries[path] ?? {})) {
      const library = resolve(entries, path, name)
      const entry = library === undefined ? undefined : entries[library]
      if (entry?.link && places.has(entry.resolved ?? '')) continue
      // A stand-in for a library that must not be there.
      if (entry?.link && optional) continue
      if (entry?.link)
        throw new Error(`${path} needs ${name} (${entry.resolved}), which is not part of a release.`)
      if (library === undefined || !existsSync(join(root, library))) {
        if (optional) continue
        throw new Error(`${path} needs ${name}, which is not installed. Run npm ci first.`)
      }
      if (found.has(library)) continue
      found.add(library)
      visit(library)
    }
  }
  for (const folder of places.keys()) visit(folder)
  return [...found].sort().map((from) => ({ from, to: placeOf(from, places) }))
}

function* needs(entry: LockEntry): Iterable<{ name: string; optional: boolean }> {
  for (const name of Object.keys(entry.dependencies ?? {})) yield { name, optional: false }
  for (const name of Object.keys(entry.optionalDependencies ?? {})) yield { name, optional: true }
  // An optional peer is for programs that have it anyway. Here it is a tool of the repository, such as the compiler.
  for (const name of Object.keys(entry.peerDependencies ?? {})) {
    if (entry.peerDependenciesMeta?.[name]?.optional !== true) yield { name, optional: false }
  }
}

/** Finds a library as Node does: in the `node_modules` of the package, then in those of the folders above. */
function resolve(entries: LockFile['packages'], path: string, name: string): string | undefined {
  for (let folder = path; ; folder = dirname(folder)) {
    const top = folder === '.' || folder === ''
    const candidate = posix.join(top ? '' : folder, 'node_modules', name)
    if (basename(folder) !== 'node_modules' && entries[candidate] !== undefined) return candidate
    if (top) return undefined
  }
}

/** A library below a package of the repository moves along with the package. All others are below the root. */
function placeOf(library: string, places: ReadonlyMap<string, string>): string {
  for (const [folder, place] of places) {
    if (library.startsWith(`${folder}/`)) return posix.join(place, library.slice(folder.length))
  }
  return library
}
