import { dirname, resolve } from 'node:path'
import type { Static } from '@nodekeep/plugin-sdk'
import { type Environment, readVariables, textTree, variablesOf } from './environment.ts'
import { refuse } from './error.ts'
import { interpolate } from './interpolation.ts'
import { type KernelConfiguration, kernelSchema } from './kernel-schema.ts'
import { forbiddenKeys, type WrittenLayers } from './layers.ts'
import { mergeAll } from './merge.ts'
import { checkPlugins, readPluginVariables } from './plugin-entries.ts'
import { describeErrors } from './problems.ts'
import { jsonSchema } from './schema-walk.ts'
import { type Branch, childOf, plainValue, sectionOf, type Tree, treeAt } from './tree.ts'
import type { Validator } from './validator.ts'

/** The kernel's sections and the map of plugins: as written in all layers, and validated. */
export interface KernelSections {
  readonly tree: Tree
  readonly kernel: KernelConfiguration
  readonly plugins: Static<typeof kernelSchema>['plugins']
}

const schema = jsonSchema(kernelSchema)
const names = Object.keys(kernelSchema.properties)

/**
 * Merges and validates the sections of the kernel.
 *
 * @throws ConfigurationError with everything that is wrong with them
 */
export function readKernelSections(
  { files, flags }: WrittenLayers,
  environment: Environment,
  workingDirectory: string,
  validator: Validator,
): KernelSections {
  const variables = readKernelVariables(environment)
  const tree = mergeAll([pick(files), ...variables.layers, pick(flags)])
  const failed = new Map<string, string>()
  const resolved = interpolate(tree, schema, environment, failed)
  checkPlugins(sectionOf(tree, 'plugins'), failed)
  const values = plainValue(resolved) as Static<typeof kernelSchema>
  const errors = validator.validate(schema, values)
  refuse([...variables.problems, ...forbiddenKeys(tree), ...describeErrors(errors, schema, tree, [], failed)])
  const { plugins, ...kernel } = values
  const origin = childOf(tree, 'data')?.origin
  const base = origin?.kind === 'file' ? dirname(origin.file) : workingDirectory
  return { tree, kernel: { ...kernel, data: resolve(base, kernel.data) }, plugins }
}

/** `PORT` comes first, so that the particular variable wins over the one that many programs share. */
function readKernelVariables(environment: Environment) {
  const port = environment.PORT
  const shared = port ? [treeAt(['server', 'port'], textTree(port, { type: 'integer' }, 'PORT'))] : []
  const own = names
    .filter((name) => name !== 'plugins')
    .map((name) => readVariables(variablesOf(name, environment), schema, []))
  const all = [...own, readPluginVariables(environment)]
  return {
    layers: [...shared, ...all.flatMap(({ layers }) => layers)],
    problems: all.flatMap(({ problems }) => problems),
  }
}

function pick(tree: Tree): Branch {
  const entries = tree.kind === 'branch' ? [...tree.entries].filter(([name]) => names.includes(name)) : []
  return { kind: 'branch', entries: new Map(entries), origin: tree.origin }
}
