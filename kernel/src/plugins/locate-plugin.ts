import { realpathSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { PluginEntry } from '../configuration/plugin-entries.ts'
import { PluginFailure } from './failure.ts'
import { type PluginManifest, readManifest } from './plugin-manifest.ts'

/** The npm scope of the first-party plugins. */
const firstPartyScope = '@nodekeep'

/**
 * Finds the package of a plugin and reads its manifest, without importing the package.
 *
 * A short name such as `files` means `@nodekeep/files` first, then a package of exactly that name. The kernel's own copy
 * of a first-party plugin wins over one beside the configuration file, so that an update of the node updates it as well.
 * All other packages are looked up from the folder of the configuration file, then from the kernel.
 *
 * @returns the manifest; under another id than that of the manifest, the plugin reads the section of this id
 * @throws PluginFailure in the phase `locate` when there is no such package, or `manifest`
 */
export async function locatePlugin(entry: PluginEntry): Promise<PluginManifest> {
  const manifest = await readManifest(await manifestPath(entry))
  return manifest.id === entry.id ? manifest : { ...manifest, section: entry.id }
}

async function manifestPath(entry: PluginEntry): Promise<string> {
  const wanted = entry.from ?? entry.id
  const folder = namedFolder(entry)
  if (folder !== null) {
    const path = join(folder, 'package.json')
    if ((await stat(path).catch(() => null))?.isFile() === true) return realpathSync(path)
    throw new PluginFailure(
      'locate',
      `There is no package.json in ${folder}. "from" must name the folder of the plugin's package.`,
    )
  }
  const beside = pathToFileURL(join(entry.folder, 'nodekeep.json')).href
  const kernel = import.meta.url
  const candidates = [
    { name: wanted, base: beside },
    { name: wanted, base: kernel },
  ]
  if (!wanted.includes('/')) {
    const name = `${firstPartyScope}/${wanted}`
    candidates.unshift({ name, base: kernel }, { name, base: beside })
  }
  for (const { name, base } of candidates) {
    const path = findManifest(name, base)
    if (path !== null) return path
  }
  throw new PluginFailure('locate', notFound(entry, [...new Set(candidates.map(({ name }) => name))]))
}

/** Returns the absolute path of the folder that "from" names; `null` if it names a package. */
export function namedFolder({ folder, from }: PluginEntry): string | null {
  return from !== null && (/^\.{1,2}(\/|$)/.test(from) || isAbsolute(from)) ? resolve(folder, from) : null
}

function findManifest(name: string, base: string): string | null {
  try {
    const path = findPackageJSON(name, base)
    return path === undefined ? null : realpathSync(path)
  } catch {
    // Node throws for a name that it cannot resolve, also for an invalid one: the package is not there.
    return null
  }
}

function notFound({ id, folder }: PluginEntry, names: readonly string[]): string {
  const packages = names.map((name) => `"${name}"`).join(' nor ')
  const which = names.length > 1 ? `Neither the package ${packages}` : `No package ${packages}`
  return (
    `${which} can be found from ${folder}. Install its package there, ` +
    `or name it with "plugins": { "${id}": { "from": "…" } }.`
  )
}
