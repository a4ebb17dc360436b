import { cp, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../run/command.ts'
import type { Manifest, Package } from '../walls/packages.ts'

/** A library that a package carries inside instead of depending on it. */
interface VendoredLibrary {
  /** The specifier that sources import, such as `#keyv-sqlite`. */
  readonly specifier: string
  /** Its package, such as `@keyv/sqlite`. */
  readonly library: string
  /** Its folder in the published package. */
  readonly folder: string
  /** Its entry in the published package, and the declarations of the entry. */
  readonly entry: string
  readonly declarations: string
}

/** `@scope/name/subpath` or `name/subpath`. */
const packageName = /^(?:@[^/]+\/)?[^/]+/
const vendoredEntry = /^(?<folder>\.\/dist\/vendor\/[^/]+)\/.+\.(?<kind>m?)js$/
const notShipped = /\.(map|cjs|d\.cts)$/

/**
 * The libraries that a package carries inside, by the `imports` of its package.json: sources get the library from
 * node_modules, the published package has a copy below `dist/vendor`.
 *
 * A library is vendored if npm would otherwise compile something on the user's machine. Overrides do not help, since npm
 * applies only those of the project that it installs for.
 */
export function vendoredLibraries(manifest: Manifest): VendoredLibrary[] {
  return Object.entries(manifest.imports ?? {}).flatMap(([specifier, conditions]) => {
    const { 'nodekeep-source': source, default: entry = '' } = conditions as Record<string, string>
    const library = packageName.exec(source ?? '')?.[0]
    const { folder, kind } = vendoredEntry.exec(entry)?.groups ?? {}
    if (library === undefined || folder === undefined) return []
    return [{ specifier, library, folder, entry, declarations: entry.replace(/m?js$/, `d.${kind}ts`) }]
  })
}

/** Copies the vendored libraries of a package into its built folder, as far as ES modules need them. */
export async function copyVendored({ manifest }: Package, built: string): Promise<void> {
  for (const { library, folder } of vendoredLibraries(manifest)) {
    const from = join(root, 'node_modules', library)
    const to = join(built, folder)
    await mkdir(to, { recursive: true })
    const { files = [] }: Manifest = JSON.parse(await readFile(join(from, 'package.json'), 'utf8'))
    for (const part of new Set(['LICENSE', ...files])) {
      await cp(join(from, part), join(to, part), {
        recursive: true,
        filter: (path) => !notShipped.test(path),
      })
    }
  }
}
