import { dirname, resolve } from 'node:path'
import { ConfigurationError } from './error.ts'
import { type JsonFile, readJsonFile } from './json-file.ts'
import { describeOrigin, fileLabel } from './origin.ts'
import { type Branch, childOf, type Tree } from './tree.ts'

interface Reading {
  readonly workingDirectory: string
  readonly layers: Map<string, Tree>
}

/**
 * The layers of a file: its presets in the order of `extends`, each after its own presets, and the file itself
 * last. A preset that is reached twice counts once, at its first place.
 *
 * @throws ConfigurationError also for a cycle, with its chain
 */
export async function layersOfFile(file: string, workingDirectory: string): Promise<Tree[]> {
  const reading: Reading = { workingDirectory, layers: new Map() }
  await add(reading, file, 'the command line or NODEKEEP_CONFIG', [])
  return [...reading.layers.values()]
}

/** The same for a configuration that was given as an object; its presets are relative to a folder. */
export async function layersOfObject(
  tree: Branch,
  folder: string,
  workingDirectory: string,
): Promise<Tree[]> {
  const reading: Reading = { workingDirectory, layers: new Map() }
  await addPresets(reading, tree, folder, [])
  return [...reading.layers.values(), tree]
}

async function add(
  reading: Reading,
  file: string,
  namedBy: string,
  above: readonly JsonFile[],
): Promise<void> {
  const start = above.findIndex((one) => one.file === file)
  if (start !== -1) {
    const chain = [...above.slice(start).map((one) => one.label), fileLabel(file, reading.workingDirectory)]
    throw new ConfigurationError([
      `The presets extend each other in a circle: ${chain.join(' → ')}. Remove one "extends" of them.`,
    ])
  }
  if (reading.layers.has(file)) return
  const read = await readJsonFile(file, reading.workingDirectory, namedBy)
  await addPresets(reading, read.tree, dirname(file), [...above, read])
  reading.layers.set(file, read.tree)
}

async function addPresets(reading: Reading, tree: Branch, folder: string, above: readonly JsonFile[]) {
  const named = childOf(tree, 'extends')
  if (named === undefined) return
  for (const preset of named.kind === 'list' ? named.items : [named]) {
    const where = describeOrigin(preset.origin)
    if (preset.kind !== 'leaf' || typeof preset.value !== 'string' || preset.value === '') {
      throw new ConfigurationError([`extends (${where}) must be the path of a file, or an array of paths.`])
    }
    await add(reading, resolve(folder, preset.value), where, above)
  }
}
