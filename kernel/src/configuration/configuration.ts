import { dirname, resolve } from 'node:path'
import { messageOf } from '@nodekeep/plugin-sdk'
import type { TObject } from 'typebox'
import { type JsonSchema, jsonSchema, secretsIn } from '../validation/json-schema.ts'
import { readVariables, variablesOf } from './environment.ts'
import { ConfigurationError, refuse } from './error.ts'
import { makePathsAbsolute, type PathFolders, withPaths } from './file-paths.ts'
import { type KernelConfiguration, kernelSchema } from './kernel-schema.ts'
import { type KernelSections, readKernelSections, type ServiceChoice } from './kernel-sections.ts'
import { type ConfigurationSources, readLayers, type WrittenLayers } from './layers.ts'
import type { PluginEntry } from './plugin-entries.ts'
import { type PrintedConfiguration, printSections } from './printing.ts'
import { resolveTree } from './resolve.ts'
import { refuseUnknownSections, type SectionClaim } from './sections.ts'
import { childOf, merge, mergeAll, plainValue, sectionOf, type Tree, treeOf } from './tree.ts'

/** The schema of a section that has no keys. */
const noKeys: JsonSchema = { type: 'object', properties: {} }

/**
 * Reads a configuration and validates the kernel's part of it. The sections of plugins are validated by
 * `Configuration.section`, once the plugins, and with them the schemas, are loaded.
 *
 * @throws ConfigurationError with all problems
 */
export async function loadConfiguration(sources: ConfigurationSources): Promise<Configuration> {
  const { file, inline, environment, workingDirectory } = sources
  const path = file === null || inline !== undefined ? null : resolve(workingDirectory, file)
  const folder = path === null ? workingDirectory : dirname(path)
  const layers = await readLayers(sources)
  const sections = readKernelSections(layers, environment, workingDirectory, folder)
  return new Configuration(path, folder, sources, layers, sections)
}

/** The configuration of one node. */
export class Configuration {
  /** Absolute path of the configuration file, `null` when there is none. */
  readonly file: string | null
  /** The folder of the configuration file, or the working directory. */
  readonly folder: string

  /** The absolute paths of all files that were read: the presets first, the configuration file last. */
  readonly files: readonly string[]
  /** The kernel's own sections, with defaults. `data` is an absolute path. */
  readonly kernel: KernelConfiguration
  /** The plugins that are named, also those that are switched off. */
  readonly plugins: readonly PluginEntry[]
  /** The plugins that are chosen as providers of services. Whether they provide them is not checked here. */
  readonly serviceChoices: readonly ServiceChoice[]

  readonly #sources: ConfigurationSources
  readonly #layers: WrittenLayers
  readonly #kernelTree: Tree
  readonly #schemas = new Map<string, JsonSchema>()
  readonly #secrets = new Set<string>()

  constructor(
    file: string | null,
    folder: string,
    sources: ConfigurationSources,
    layers: WrittenLayers,
    sections: KernelSections,
  ) {
    this.file = file
    this.folder = folder
    this.#sources = sources
    this.#layers = layers
    this.files = layers.paths
    this.kernel = sections.kernel
    this.plugins = sections.plugins
    this.serviceChoices = sections.serviceChoices
    this.#kernelTree = sections.tree
  }

  /**
   * Returns a plugin's section: merged from all layers, with defaults, validated. Each call returns a copy.
   *
   * @param schema a TypeBox object; `null` for a plugin without configuration, for which every key is an error
   * @param folders the keys that name folders, which are paths whatever the schema says of them
   * @throws ConfigurationError with all problems of the section
   */
  section(name: string, schema: TObject | null, folders: Iterable<string> = []): unknown {
    const rules = schema === null ? noKeys : jsonSchema(schema)
    this.#schemas.set(name, rules)
    const merged = this.#merged(name, rules)
    const { value, problems } = this.#resolve(name, merged.tree, rules)
    makePathsAbsolute(value, merged.tree, withPaths(rules, folders), this.#pathFolders())
    for (const secret of secretsIn(value, rules)) this.#secrets.add(secret)
    refuse([...merged.problems, ...problems])
    return value
  }

  /**
   * Returns the paths that keys of a section set, without the schema of the section: all other keys are ignored.
   *
   * @returns the absolute paths, by key; a key that no layer sets is missing
   * @throws ConfigurationError with all problems of these keys
   */
  paths(name: string, keys: readonly string[]): ReadonlyMap<string, string> {
    const properties = Object.fromEntries(keys.map((key) => [key, { type: 'string', minLength: 1 }]))
    const rules: JsonSchema = { type: 'object', properties }
    const section = this.#merged(name, rules).tree
    const written = keys.flatMap((key) => {
      const value = childOf(section, key)
      return value === undefined ? [] : [[key, value] as const]
    })
    const tree: Tree = { kind: 'branch', entries: new Map(written), origin: section.origin }
    const { value, problems } = this.#resolve(name, tree, rules)
    refuse(problems)
    makePathsAbsolute(value, tree, withPaths(rules, keys), this.#pathFolders())
    return new Map(Object.entries(value as Record<string, string>))
  }

  /**
   * Refuses sections and variables that belong to nothing. Call it after `section` was called for every plugin.
   *
   * @param claims the sections of the plugins that were found; a named plugin without a claim has a section of its id
   * @throws ConfigurationError with one line for each
   */
  refuseUnknownSections(claims: readonly SectionClaim[]): void {
    const tree = merge(this.#layers.files, this.#layers.flags)
    const ids = this.plugins.map(({ id }) => id)
    refuseUnknownSections(tree, this.#sources.environment, ids, claims, this.#schemas)
  }

  /**
   * Returns the configuration in a form that may be shown, with the origin of each value. Sections may be invalid.
   *
   * @param schemas the schemas of the plugins' sections, if they have one; texts of other sections are hidden
   */
  print(schemas: ReadonlyMap<string, TObject | null>): PrintedConfiguration {
    const sections = new Map<string, { tree: Tree; schema: JsonSchema | undefined }>()
    const tree = merge(this.#layers.files, this.#layers.flags)
    const names = tree.kind === 'branch' ? [...tree.entries.keys()] : []
    for (const [name, schema] of Object.entries(kernelSchema.properties)) {
      sections.set(name, { tree: sectionOf(this.#kernelTree, name), schema: jsonSchema(schema) })
    }
    for (const name of [...schemas.keys(), ...names]) {
      if (sections.has(name) || name === 'extends' || name === '$schema') continue
      const given = schemas.get(name) ?? undefined
      const schema = given && jsonSchema(given)
      sections.set(name, { tree: this.#merged(name, schema ?? noKeys).tree, schema })
    }
    return printSections(sections, this.kernel.data)
  }

  /**
   * Returns the sources of the same configuration with other values, nested like the configuration. They win over those of files,
   * variables and flags.
   */
  sourcesWith(values: Readonly<Record<string, unknown>>): ConfigurationSources {
    const asTree = (written: Readonly<Record<string, unknown>>) =>
      treeOf(written, () => ({ kind: 'default' }))
    const flags = plainValue(merge(asTree(this.#sources.flags), asTree(values))) as Record<string, unknown>
    return { ...this.#sources, flags }
  }

  /** Returns every secret of the sections that `section` was called for, so that the log can remove it. */
  secretValues(): string[] {
    return [...this.#secrets]
  }

  #pathFolders(): PathFolders {
    return { workingDirectory: this.#sources.workingDirectory, data: this.kernel.data }
  }

  #merged(name: string, schema: JsonSchema): { tree: Tree; problems: readonly string[] } {
    const { files, flags } = this.#layers
    const { layers, problems } = readVariables(variablesOf(name, this.#sources.environment), schema, [name])
    const all = [childOf(files, name), ...layers, childOf(flags, name)]
    return { tree: mergeAll(all.filter((layer) => layer !== undefined)), problems }
  }

  #resolve(name: string, tree: Tree, schema: JsonSchema) {
    try {
      return resolveTree(tree, schema, this.#sources.environment, [name])
    } catch (error) {
      throw new ConfigurationError([
        `The section "${name}" cannot be checked, since its plugin's schema is wrong: ${messageOf(error)}`,
      ])
    }
  }
}
