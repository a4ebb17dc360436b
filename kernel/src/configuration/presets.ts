import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const scheme = 'nodekeep:'

/** The folder of the kernel's presets: in the published package, or beside it in a checkout. */
const folder = ['../../config/', '../../../config/']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path))

/** The names of the kernel's presets, as `extends` takes them: `nodekeep:default` and others. */
export function presetNames(): string[] {
  const files = folder === undefined ? [] : readdirSync(folder)
  return files.filter((file) => file.endsWith('.json')).map((file) => scheme + basename(file, '.json'))
}

/** Whether a value of `extends` names a preset of the kernel rather than a file. */
export function isPresetName(value: string): boolean {
  return value.startsWith(scheme)
}

/** Whether a file is one of the kernel's presets. */
export function isPresetFile(file: string): boolean {
  return folder !== undefined && dirname(file) === resolve(folder)
}

/** Returns the path of the kernel's preset with this name; `null` if there is none. */
export function presetFile(name: string): string | null {
  if (folder === undefined || !presetNames().includes(name)) return null
  return join(folder, `${name.slice(scheme.length)}.json`)
}
