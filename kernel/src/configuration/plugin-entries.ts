import { dirname } from 'node:path'
import type { Static } from '@nodekeep/plugin-sdk'
import { isId } from '@nodekeep/plugin-sdk/host'
import { jsonSchema } from '../validation/json-schema.ts'
import { type Environment, type EnvironmentLayers, readVariables, variablesOf } from './environment.ts'
import { pluginSchema, reservedNames } from './kernel-schema.ts'
import { childOf, describeOrigin, emptyBranch, formatKey, formatPlace, type Tree, treeAt } from './tree.ts'

/** A plugin as the configuration names it. */
export interface PluginEntry {
  readonly id: string
  readonly enabled: boolean
  /** The package or first-party id to load; `null` means the id itself. */
  readonly from: string | null
  /** Whether the node refuses to start without it. */
  readonly required: boolean
  /** The folder of the file that names the plugin. Its package is looked up there first. */
  readonly folder: string
  /** The origin of the entry, for messages: `config/default.json:12`. */
  readonly where: string
}

const entrySchema = jsonSchema(pluginSchema)

/**
 * Expands the short forms of a layer's plugins, so that `true` or `false` in a later layer switches a plugin and keeps
 * the keys that an earlier layer sets. A layer that removes a plugin also removes its section.
 */
export function expandPlugins(layer: Tree): Tree {
  const plugins = childOf(layer, 'plugins')
  if (layer.kind !== 'branch' || plugins?.kind !== 'branch') return layer
  const expanded = [...plugins.entries].map(([id, entry]) => {
    const isShort = entry.kind === 'leaf' && typeof entry.value === 'boolean'
    return [id, isShort ? treeAt(['enabled'], entry) : entry] as const
  })
  const entries = new Map(layer.entries).set('plugins', { ...plugins, entries: new Map(expanded) })
  for (const [id, entry] of plugins.entries)
    if (entry.kind === 'leaf' && entry.value === null && !entries.has(id) && !reservedNames.has(id))
      entries.set(id, entry)
  return { ...layer, entries }
}

/**
 * Reads the plugins that the environment names: `NODEKEEP_PLUGINS__AI_OPENAI=false`,
 * `NODEKEEP_PLUGINS__ACME__REQUIRED=false`.
 */
export function readPluginVariables(environment: Environment): EnvironmentLayers[] {
  // The variable for the whole map is the first one.
  const byWord = Map.groupBy(variablesOf('plugins', environment), ({ parts }) => parts[1])
  return [...byWord].map(([word, variables]) => {
    const above = ['plugins', ...(word === undefined ? [] : [word.toLowerCase().replaceAll('_', '-')])]
    const { layers, problems } = readVariables(variables, entrySchema, above)
    return { layers: layers.map((layer) => expandPlugins(treeAt(above, layer))), problems }
  })
}

/** Returns the entries of the merged and validated map of plugins, in its order. */
export function pluginEntries(
  values: Readonly<Record<string, Static<typeof pluginSchema>>>,
  tree: Tree,
  folder: string,
): PluginEntry[] {
  return Object.entries(values).map(([id, value]) => {
    const entry = childOf(tree, id) ?? emptyBranch
    const named = childOf(entry, 'from')?.origin ?? entry.origin
    return {
      id,
      enabled: value.enabled,
      from: value.from ?? null,
      required: value.required,
      folder: named.kind === 'file' ? dirname(named.file) : folder,
      where: describeOrigin(entry.origin),
    }
  })
}

/**
 * Checks the rules for the merged map of plugins that a schema cannot express.
 *
 * @returns one line for each wrong entry, by its key
 */
export function checkPlugins(tree: Tree): Map<string, string> {
  const problems = new Map<string, string>()
  for (const [id, entry] of tree.kind === 'branch' ? tree.entries : []) {
    const path = ['plugins', id]
    const problem = complaint(id, entry)
    if (problem !== null) problems.set(formatKey(path), `${formatPlace(path, entry.origin)} ${problem}`)
  }
  return problems
}

function complaint(id: string, entry: Tree): string | null {
  if (!isId(id)) return 'is not a plugin id: write lower case words joined by dashes.'
  if (reservedNames.has(id)) {
    return 'has the name of a section of the kernel. Give the plugin another id and name it in "from".'
  }
  return entry.kind === 'branch' ? null : 'must be true, false, or an object such as { "from": "package" }.'
}
