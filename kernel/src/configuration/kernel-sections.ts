import { join } from 'node:path'
import type { Static } from '@nodekeep/plugin-sdk'
import { jsonSchema } from '../validation/json-schema.ts'
import { type Environment, readVariables, textTree, variablesOf } from './environment.ts'
import { refuse } from './error.ts'
import { absolutePath } from './file-paths.ts'
import { type KernelConfiguration, kernelSchema } from './kernel-schema.ts'
import type { WrittenLayers } from './layers.ts'
import { checkPlugins, type PluginEntry, pluginEntries, readPluginVariables } from './plugin-entries.ts'
import { resolveTree } from './resolve.ts'
import {
  type Branch,
  childOf,
  formatPlace,
  mergeAll,
  type Origin,
  originAt,
  sectionOf,
  type Tree,
  treeAt,
} from './tree.ts'

/** The choice of one plugin as the provider of a service. */
export interface ServiceChoice {
  /** The service's id, without its major version. */
  readonly service: string
  /** The plugin's id. */
  readonly plugin: string
  /** The key and its origin, for messages: `services.files (config/default.json:12)`. */
  readonly where: string
}

/** The kernel's sections: as written in all layers, and validated. */
export interface KernelSections {
  readonly tree: Tree
  readonly kernel: KernelConfiguration
  /** The plugins that are named, also those that are switched off. */
  readonly plugins: readonly PluginEntry[]
  readonly serviceChoices: readonly ServiceChoice[]
}

const schema = jsonSchema(kernelSchema)
const names = Object.keys(kernelSchema.properties)

/**
 * Merges and validates the sections of the kernel.
 *
 * @param folder where packages of plugins are looked up that no file names
 * @throws ConfigurationError with all problems of these sections
 */
export function readKernelSections(
  { files, flags }: WrittenLayers,
  environment: Environment,
  workingDirectory: string,
  folder: string,
): KernelSections {
  const variables = readKernelVariables(environment)
  const tree = mergeAll([pick(files), ...variables.layers, pick(flags)])
  const wrongPlugins = checkPlugins(sectionOf(tree, 'plugins'))
  const { value, problems } = resolveTree(tree, schema, environment, [], wrongPlugins)
  refuse([...variables.problems, ...problems])
  const { plugins, ...kernel } = value as Static<typeof kernelSchema>
  const absolute = (path: string, origin: Origin | undefined) =>
    absolutePath(path, origin, { workingDirectory, data: null })
  const data = absolute(kernel.data, childOf(tree, 'data')?.origin)
  const { folder: written } = kernel.releases
  const releases =
    written === undefined ? join(data, 'releases') : absolute(written, originAt(tree, ['releases', 'folder']))
  return {
    tree,
    kernel: { ...kernel, data, releases: { ...kernel.releases, folder: releases } },
    plugins: pluginEntries(plugins, sectionOf(tree, 'plugins'), folder),
    serviceChoices: serviceChoices(kernel.services, sectionOf(tree, 'services')),
  }
}

function serviceChoices(values: Readonly<Record<string, string>>, tree: Tree): ServiceChoice[] {
  return Object.entries(values).map(([service, plugin]) => {
    const where = formatPlace(['services', service], originAt(tree, [service]))
    return { service, plugin, where }
  })
}

/** `PORT`, which many programs share, comes first: `NODEKEEP_SERVER__PORT` wins over it. */
function readKernelVariables(environment: Environment) {
  const port = environment.PORT
  const shared = port ? [treeAt(['server', 'port'], textTree(port, { type: 'integer' }, 'PORT'))] : []
  const sections = names
    .filter((name) => name !== 'plugins')
    .map((name) => readVariables(variablesOf(name, environment), schema, []))
  const all = [...sections, ...readPluginVariables(environment)]
  return {
    layers: [...shared, ...all.flatMap(({ layers }) => layers)],
    problems: all.flatMap(({ problems }) => problems),
  }
}

function pick(tree: Tree): Branch {
  const entries = tree.kind === 'branch' ? [...tree.entries].filter(([name]) => names.includes(name)) : []
  return { kind: 'branch', entries: new Map(entries), origin: tree.origin }
}
