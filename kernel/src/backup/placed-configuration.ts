import { basename, extname, isAbsolute, relative, sep } from 'node:path'
import type { Configuration } from '../configuration/configuration.ts'
import { isPresetFile } from '../configuration/presets.ts'

/** A file, and its place in the folder of a participant of backups, `/`-separated. */
export interface PlacedFile {
  readonly file: string
  readonly path: string
}

/**
 * Finds the files of a configuration, with places that make sense on another machine: the configuration file is `nodekeep.json`,
 * and a file that it extends keeps its path from there. A file of another folder is put beside it. The presets of the node are not
 * among them.
 */
export function placedConfiguration({ file, files, folder }: Configuration): PlacedFile[] {
  const taken = new Set<string>()
  return files
    .filter((one) => !isPresetFile(one))
    .sort((a, b) => Number(b === file) - Number(a === file))
    .map((one) => {
      const path = free(one === file ? 'nodekeep.json' : placeOf(one, folder), taken)
      taken.add(path)
      return { file: one, path }
    })
}

function placeOf(file: string, folder: string): string {
  const path = relative(folder, file)
  return path.startsWith('..') || isAbsolute(path) ? basename(file) : path.replaceAll(sep, '/')
}

/** Returns the path with a number if it is taken: `base.json`, `base-2.json`. */
function free(path: string, taken: ReadonlySet<string>): string {
  const extension = extname(path)
  const stem = path.slice(0, path.length - extension.length)
  let candidate = path
  for (let count = 2; taken.has(candidate); count++) candidate = `${stem}-${count}${extension}`
  return candidate
}
