import { dirname, resolve } from 'node:path'
import type { TObject } from 'typebox'
import { readVariables, variablesOf } from './environment.ts'
import { ConfigurationError, refuse } from './error.ts'
import { interpolate } from './interpolation.ts'
import { type KernelConfiguration, kernelSchema } from './kernel-schema.ts'
import { type KernelSections, readKernelSections } from './kernel-sections.ts'
import { forbiddenKeys, readLayers, type WrittenLayers } from './layers.ts'
import { merge, mergeAll } from './merge.ts'
import { type PluginEntry, pluginEntries } from './plugin-entries.ts'
import { type PrintedConfiguration, printSections } from './printing.ts'
import { describeErrors } from './problems.ts'
import { secretsIn } from './redaction.ts'
import { type JsonSchema, jsonSchema } from './schema-walk.ts'
import { type ServiceChoice, serviceChoices } from './service-choices.ts'
import type { ConfigurationSources } from './sources.ts'
import { childOf, plainValue, sectionOf, type Tree } from './tree.ts'
import { unknownSections } from './unknown-sections.ts'
import { loadValidator, type SchemaError, type Validator } from './validator.ts'

/** The schema of a section that has no keys. */
const noKeys: JsonSchema = { type: 'object', properties: {} }

/**
 * Reads a configuration and validates the kernel's part of it. Sections of plugins are validated when they are
 * asked for, since only then their schemas are known.
 *
 * @throws ConfigurationError with everything that is wrong
 */
export async function loadConfiguration(sources: ConfigurationSources): Promise<Configuration> {
  const validator = await loadValidator()
  const layers = await readLayers(sources)
  const own = readKernelSections(layers, sources.environment, sources.workingDirectory, validator)
  return new Configuration(sources, layers, own, validator)
}

/** The configuration of one node. */
export class Configuration {
  /** Absolute path of the configuration file, `null` when there is none. */
  readonly file: string | null
  /** The folder of the configuration file, or the working directory. */
  readonly folder: string
  /** The kernel's own sections, complete. `data` is an absolute path. */
  readonly kernel: KernelConfiguration
  /** The plugins that are named, also those that are switched off. */
  readonly plugins: readonly PluginEntry[]
  /** Which plugin is to provide a service; whether it can, only who has loaded the plugins knows. */
  readonly serviceChoices: readonly ServiceChoice[]

  readonly #sources: ConfigurationSources
  readonly #layers: WrittenLayers
  readonly #own: KernelSections
  readonly #validator: Validator
  readonly #schemas = new Map<string, JsonSchema>()
  readonly #secrets = new Set<string>()

  constructor(
    sources: ConfigurationSources,
    layers: WrittenLayers,
    own: KernelSections,
    validator: Validator,
  ) {
    const { file, inline, workingDirectory } = sources
    this.file = file === null || inline !== undefined ? null : resolve(workingDirectory, file)
    this.folder = this.file === null ? workingDirectory : dirname(this.file)
    this.kernel = own.kernel
    this.plugins = pluginEntries(own.plugins, sectionOf(own.tree, 'plugins'), this.folder)
    this.serviceChoices = serviceChoices(own.kernel.services, sectionOf(own.tree, 'services'))
    this.#sources = sources
    this.#layers = layers
    this.#own = own
    this.#validator = validator
  }

  /**
   * A plugin's section: merged from all layers, complete, validated. Each call returns a copy.
   *
   * @param schema a TypeBox object; `null` for a plugin without configuration, where every key is an error
   * @throws ConfigurationError with everything that is wrong with the section
   */
  section(name: string, schema: TObject | null): unknown {
    const rules = schema === null ? noKeys : jsonSchema(schema)
    this.#schemas.set(name, rules)
    const { tree, problems } = this.#merged(name, rules)
    const failed = new Map<string, string>()
    const resolved = interpolate(tree, rules, this.#sources.environment, failed, [name])
    const value = plainValue(resolved)
    const errors = this.#validate(name, rules, value)
    for (const secret of secretsIn(value, rules)) this.#secrets.add(secret)
    refuse([
      ...problems,
      ...forbiddenKeys(tree, [name]),
      ...describeErrors(errors, rules, tree, [name], failed),
    ])
    return value
  }

  /**
   * Refuses sections and variables that belong to nothing. Call it when every section was asked for.
   *
   * @param known sections of plugins; the ids of all named plugins are known without
   * @param moved plugins whose section is not called like them: their ids, each with its section
   * @throws ConfigurationError with one line for each
   */
  refuseUnknownSections(known: Iterable<string>, moved: ReadonlyMap<string, string> = new Map()): void {
    const ids = this.plugins.map(({ id }) => id).filter((id) => !moved.has(id))
    const sections = [...known, ...this.#schemas.keys(), ...ids]
    const tree = merge(this.#layers.files, this.#layers.flags)
    refuse(unknownSections(tree, this.#sources.environment, sections, this.#schemas, moved))
  }

  /**
   * The configuration as it may be shown, with the origin of each value. It works for an invalid section too.
   *
   * @param schemas the schemas of the plugins' sections; texts of other sections are hidden
   */
  print(schemas: ReadonlyMap<string, TObject>): PrintedConfiguration {
    const sections = new Map<string, { tree: Tree; schema: JsonSchema | undefined }>()
    const tree = merge(this.#layers.files, this.#layers.flags)
    const names = tree.kind === 'branch' ? [...tree.entries.keys()] : []
    for (const [name, schema] of Object.entries(kernelSchema.properties)) {
      sections.set(name, { tree: sectionOf(this.#own.tree, name), schema: jsonSchema(schema) })
    }
    for (const name of [...schemas.keys(), ...names]) {
      if (sections.has(name) || name === 'extends' || name === '$schema') continue
      const given = schemas.get(name)
      const schema = given && jsonSchema(given)
      sections.set(name, { tree: this.#merged(name, schema ?? noKeys).tree, schema })
    }
    return printSections(sections, this.kernel.data, this.#validator)
  }

  /** Every secret of the sections that were asked for, for the log to remove. */
  secretValues(): string[] {
    return [...this.#secrets]
  }

  #validate(name: string, rules: JsonSchema, value: unknown): readonly SchemaError[] {
    try {
      return this.#validator.validate(rules, value)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new ConfigurationError([
        `The section "${name}" cannot be checked, since its plugin's schema is wrong: ${reason}`,
      ])
    }
  }

  #merged(name: string, schema: JsonSchema): { tree: Tree; problems: readonly string[] } {
    const { files, flags } = this.#layers
    const { layers, problems } = readVariables(variablesOf(name, this.#sources.environment), schema, [name])
    const all = [childOf(files, name), ...layers, childOf(flags, name)]
    return { tree: mergeAll(all.filter((layer) => layer !== undefined)), problems }
  }
}
