import { dirname, resolve } from 'node:path'
import type { Environment } from './environment.ts'
import { ConfigurationError, refuse } from './error.ts'
import { fileLabel, type JsonFile, readJsonFile } from './json-file.ts'
import { expandPlugins } from './plugin-entries.ts'
import { isPresetName, presetFile, presetNames } from './presets.ts'
import {
  type Branch,
  childOf,
  describeOrigin,
  emptyBranch,
  formatKey,
  formatPlace,
  mergeAll,
  type Tree,
  treeOf,
  visit,
} from './tree.ts'

/** Everything that a configuration consists of, besides the defaults of the schemas. */
export interface ConfigurationSources {
  /** Path of the configuration file, `null` for none. Relative to the working directory. */
  readonly file: string | null
  readonly environment: Environment
  /** Values of the command line, nested like the configuration: `{ server: { port: 4300 } }`. Those that are `undefined` are not set. */
  readonly flags: Readonly<Record<string, unknown>>
  /** Absolute path. */
  readonly workingDirectory: string
  /** A configuration that replaces the file, for tests and for programs that embed the node. */
  readonly inline?: Readonly<Record<string, unknown>>
  /** Receives the absolute path of each file before it is read, also of one that cannot be read. */
  readonly onFile?: (path: string) => void
}

/** The merged files (or the object that replaces them), and the flags. */
export interface WrittenLayers {
  readonly files: Tree
  /** The absolute paths of the files, each after its presets. */
  readonly paths: readonly string[]
  readonly flags: Tree
}

/**
 * Reads files and flags.
 *
 * @throws ConfigurationError when a file cannot be read, presets form a circle, or a key would reach into the runtime
 */
export async function readLayers(sources: ConfigurationSources): Promise<WrittenLayers> {
  const { trees, paths } = await readFiles(sources)
  const files = mergeAll(trees.map(expandPlugins))
  const flags = expandPlugins(
    treeOf(sources.flags, (path) => ({
      kind: 'flag',
      flag: flagNames[formatKey(path)] ?? `the flag for ${formatKey(path)}`,
    })),
  )
  refuse([...forbiddenKeys(files), ...forbiddenKeys(flags)])
  return { files, paths, flags }
}

/** The command line's own names for the keys that it can set. */
const flagNames: Readonly<Record<string, string>> = {
  'server.port': '--port',
  'server.host': '--host',
  data: '--data',
  'log.level': '--log-level',
}

/** Reads the layers of the file: its presets in the order of `extends`, each after its own presets, the file last. */
async function readFiles({
  file,
  inline,
  workingDirectory,
  onFile,
}: ConfigurationSources): Promise<{ readonly trees: readonly Tree[]; readonly paths: readonly string[] }> {
  const reader = new LayerReader(workingDirectory, onFile)
  if (inline !== undefined) {
    const tree = treeOf(inline, () => ({ kind: 'inline' }))
    const branch = tree.kind === 'branch' ? tree : emptyBranch
    await reader.addPresets(branch, workingDirectory, [])
    return { trees: [...reader.layers, branch], paths: reader.paths }
  }
  if (file !== null) {
    await reader.addFile(resolve(workingDirectory, file), 'the command line or NODEKEEP_CONFIG', [])
  }
  return { trees: reader.layers, paths: reader.paths }
}

/** Reads files after their presets. A preset that is reached twice counts once, at its first position. */
class LayerReader {
  readonly #workingDirectory: string
  readonly #onFile: (path: string) => void
  readonly #byFile = new Map<string, Tree>()

  constructor(workingDirectory: string, onFile: (path: string) => void = () => {}) {
    this.#workingDirectory = workingDirectory
    this.#onFile = onFile
  }

  get layers(): Tree[] {
    return [...this.#byFile.values()]
  }

  get paths(): string[] {
    return [...this.#byFile.keys()]
  }

  async addFile(file: string, namedBy: string, above: readonly JsonFile[]): Promise<void> {
    const start = above.findIndex((one) => one.file === file)
    if (start !== -1) {
      const chain = [...above.slice(start).map((one) => one.label), fileLabel(file, this.#workingDirectory)]
      throw new ConfigurationError([
        `The presets extend each other in a circle: ${chain.join(' → ')}. Remove one of these "extends".`,
      ])
    }
    if (this.#byFile.has(file)) return
    this.#onFile(file)
    const read = await readJsonFile(file, this.#workingDirectory, namedBy)
    await this.addPresets(read.tree, dirname(file), [...above, read])
    this.#byFile.set(file, read.tree)
  }

  async addPresets(tree: Branch, folder: string, above: readonly JsonFile[]): Promise<void> {
    const named = childOf(tree, 'extends')
    if (named === undefined) return
    for (const preset of named.kind === 'list' ? named.items : [named]) {
      const where = describeOrigin(preset.origin)
      if (preset.kind !== 'leaf' || typeof preset.value !== 'string' || preset.value === '') {
        throw new ConfigurationError([
          `extends (${where}) must be the name of a preset, the path of a file, or an array of them.`,
        ])
      }
      await this.addFile(fileOf(preset.value, folder, where), where, above)
    }
  }
}

/** Returns the file that a value of `extends` names. */
function fileOf(preset: string, folder: string, where: string): string {
  if (!isPresetName(preset)) return resolve(folder, preset)
  const file = presetFile(preset)
  if (file !== null) return file
  throw new ConfigurationError([
    `extends (${where}) names the preset "${preset}", which this version does not have. It has ${presetNames().join(', ')}.`,
  ])
}

const forbidden: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Returns one line for each key that would be dangerous in an object of the runtime. */
export function forbiddenKeys(tree: Tree, above: readonly string[] = []): string[] {
  const problems: string[] = []
  visit(tree, (part, path) => {
    if (!forbidden.has(String(path.at(-1)))) return
    const place = formatPlace([...above, ...path], part.origin)
    problems.push(`${place} has a name that cannot be used. Rename the key.`)
  })
  return problems
}
