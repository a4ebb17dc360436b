import { cp, mkdir, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { root } from '../run/command.ts'
import type { Manifest, Package } from '../walls/packages.ts'

/** A library that a package carries inside instead of depending on it. */
interface VendoredLibrary {
  /** What sources import, such as `#keyv-sqlite`. */
  readonly specifier: string
  readonly library: string
  /** Its entry in the published package. */
  readonly target: string
}

/**
 * The libraries that a package carries inside. The `imports` of its package.json say which: sources get the
 * library from node_modules, the published package a copy below `dist/vendor`.
 *
 * A library is vendored when depending on it would make npm compile something on the user's machine, and
 * overrides don't help, since npm only heeds those of the project it installs for.
 */
export function vendoredLibraries(manifest: Manifest): VendoredLibrary[] {
  return Object.entries(manifest.imports ?? {}).flatMap(([specifier, conditions]) => {
    const { 'nodekeep-source': library, default: target } = conditions as Record<string, string>
    return library && target?.startsWith('./dist/vendor/') ? [{ specifier, library, target }] : []
  })
}

/** Copies the ES modules, declarations and licenses of a package's vendored libraries into its built folder. */
export async function copyVendored({ manifest }: Package, built: string): Promise<void> {
  for (const { library, target } of vendoredLibraries(manifest)) {
    const from = join(root, 'node_modules', library)
    const to = join(built, dirname(target))
    await mkdir(to, { recursive: true })
    await cp(join(from, 'LICENSE'), join(to, 'LICENSE'))
    for (const file of await readdir(join(from, 'dist'))) {
      if (/\.m(js|ts)$/.test(file)) await cp(join(from, 'dist', file), join(to, file))
    }
  }
}
