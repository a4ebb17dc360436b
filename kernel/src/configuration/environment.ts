import type { Origin } from './origin.ts'
import { childSchema, type JsonSchema, subschemas } from './schema-walk.ts'
import { suggest } from './suggestion.ts'
import { parseText } from './text-value.ts'
import { type Tree, treeAt, treeOf } from './tree.ts'

/** The process's environment, or what stands for it. */
export type Environment = Readonly<Record<string, string | undefined>>

const prefix = 'NODEKEEP_'

/** Variables that name the configuration itself and set no key. */
const taken: ReadonlySet<string> = new Set(['NODEKEEP_CONFIG'])

/** A key or section as a part of a variable's name: `maxFileSize` is `MAX_FILE_SIZE`, `ai-openai` `AI_OPENAI`. */
export function variableWord(key: string): string {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()
}

/** The variable of a key, such as `NODEKEEP_STORAGE__MAX_FILE_SIZE`. */
export function variableName(keys: readonly string[]): string {
  return prefix + keys.map(variableWord).join('__')
}

/** A variable that stands for a key: its name is the prefix and the parts, joined by `__`. */
export interface Variable {
  readonly name: string
  readonly text: string
  readonly parts: readonly string[]
}

/** What the environment sets, later layers winning. */
export interface EnvironmentLayers {
  readonly layers: readonly Tree[]
  readonly problems: readonly string[]
}

/**
 * Reads variables into layers, general ones (a whole object as JSON) before particular ones.
 *
 * @param above the keys that the schema describes the content of; the layers start below them
 */
export function readVariables(
  variables: readonly Variable[],
  schema: JsonSchema,
  above: readonly string[],
): EnvironmentLayers {
  const found: { keys: string[]; tree: Tree }[] = []
  const problems: string[] = []
  for (const { name, text, parts } of variables) {
    const match = matchKeys(schema, parts.slice(above.length))
    if (match === null) problems.push(unknownVariable(name, variablesOfSchema(above, schema)))
    else found.push({ keys: match.keys, tree: textTree(text, match.schema, name) })
  }
  found.sort((a, b) => a.keys.length - b.keys.length)
  return { layers: found.map(({ keys, tree }) => treeAt(keys, tree)), problems }
}

/** The tree of one variable's text. */
export function textTree(text: string, schema: JsonSchema | undefined, variable: string): Tree {
  const origin: Origin = { kind: 'environment', variable }
  return treeOf(parseText(text, schema), () => origin)
}

/** The variables of a section that are set. */
export function variablesOf(section: string, environment: Environment): Variable[] {
  return allVariables(environment).filter(({ parts }) => parts[0] === variableWord(section))
}

/** All variables that stand for a key, in the order of their names. One that is empty counts as not set. */
export function allVariables(environment: Environment): Variable[] {
  return Object.entries(environment)
    .filter(([name]) => name.startsWith(prefix) && !taken.has(name))
    .flatMap(([name, text]) => (text ? [{ name, text, parts: name.slice(prefix.length).split('__') }] : []))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The keys that parts of a variable's name stand for in a schema. */
export function matchKeys(
  schema: JsonSchema,
  parts: readonly string[],
): { keys: string[]; schema: JsonSchema } | null {
  const keys: string[] = []
  let current = schema
  for (const part of parts) {
    const names = subschemas(current).flatMap((branch) => Object.keys(branch.properties ?? {}))
    const key = names.find((name) => variableWord(name) === part)
    const child = key === undefined ? undefined : childSchema(current, key)
    if (key === undefined || child === undefined) return null
    keys.push(key)
    current = child
  }
  return { keys, schema: current }
}

/** Every variable that a schema has below some keys. */
export function variablesOfSchema(keys: readonly string[], schema: JsonSchema): string[] {
  return subschemas(schema).flatMap(({ properties = {} }) =>
    Object.entries(properties).flatMap(([key, child]) => [
      variableName([...keys, key]),
      ...variablesOfSchema([...keys, key], child),
    ]),
  )
}

/** The problem with a variable that matches no key. */
export function unknownVariable(variable: string, known: readonly string[]): string {
  return `The variable ${variable} matches no configuration key. ${suggest(variable, known)}`
}
