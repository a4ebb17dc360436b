import { realpathSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PluginFailure } from './failure.ts'
import { type PluginManifest, readManifest } from './manifest.ts'

/** The scope under which the packages of the plugins that belong to Nodekeep are published. */
const firstPartyScope = '@nodekeep'

/** How configuration names a plugin. */
export interface PluginReference {
  readonly id: string
  /** A package name, a first-party id, or a path that begins with `.` or `/`; the id itself when `null`. */
  readonly from: string | null
  /** The folder of the configuration file that says so. Packages are looked up from here first. */
  readonly folder: string
}

/**
 * Finds the package of a plugin and reads its manifest, without importing it.
 *
 * A short name such as `files` means `@nodekeep/files` first, then a package of exactly that name.
 *
 * @throws PluginFailure in the phase `locate` when there is no such package, or `manifest`
 */
export async function locatePlugin(reference: PluginReference): Promise<PluginManifest> {
  const wanted = reference.from ?? reference.id
  if (/^\.{1,2}(\/|$)/.test(wanted) || isAbsolute(wanted)) {
    const folder = resolve(reference.folder, wanted)
    const manifest = join(folder, 'package.json')
    if (await exists(manifest)) return readManifest(realpathSync(manifest))
    throw new PluginFailure(
      'locate',
      `There is no package.json in ${folder}. "from" must name the folder of the plugin's package.`,
    )
  }
  const names = wanted.includes('/') ? [wanted] : [`${firstPartyScope}/${wanted}`, wanted]
  const bases = [pathToFileURL(join(reference.folder, 'nodekeep.json')).href, import.meta.url]
  for (const name of names) {
    for (const base of bases) {
      const path = findManifest(name, base)
      if (path !== null) return readManifest(path)
    }
  }
  throw new PluginFailure('locate', notFound(reference, names))
}

function findManifest(name: string, base: string): string | null {
  try {
    const path = findPackageJSON(name, base)
    return path === undefined ? null : realpathSync(path)
  } catch {
    // Node throws for what it cannot resolve, an invalid package name included: to us it is not there.
    return null
  }
}

function notFound({ id, folder }: PluginReference, names: readonly string[]): string {
  const packages = names.map((name) => `"${name}"`).join(' nor ')
  const which = names.length > 1 ? `neither the package ${packages}` : `no package ${packages}`
  return (
    `There is ${which} to be found from ${folder}. Install it there with "npm install ${names[0]}", ` +
    `or name its package with "plugins": { "${id}": { "from": "…" } }.`
  )
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
