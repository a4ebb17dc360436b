import { parseByteSize } from '@nodekeep/plugin-sdk'
import {
  childSchema,
  isByteSize,
  type JsonSchema,
  subschemas,
  typeName,
  typesOf,
} from '../validation/json-schema.ts'
import { suggest } from '../validation/suggestion.ts'
import { type Origin, type Tree, treeAt, treeOf } from './tree.ts'

/** The environment of the process, or an object that replaces it. */
export type Environment = Readonly<Record<string, string | undefined>>

const prefix = 'NODEKEEP_'

/** Variables that select the configuration itself and set no key. */
const taken: ReadonlySet<string> = new Set(['NODEKEEP_CONFIG'])

/** Writes a key or a section as part of a variable name: `maxFileSize` is `MAX_FILE_SIZE`, `ai-openai` is `AI_OPENAI`. */
export function variableWord(key: string): string {
  return key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()
}

/** Returns the variable of a key, such as `NODEKEEP_STORAGE__MAX_FILE_SIZE`. */
export function variableName(keys: readonly string[]): string {
  return prefix + keys.map(variableWord).join('__')
}

/** A variable that sets a key. Its name is the prefix and the parts, joined by `__`. */
interface Variable {
  readonly name: string
  readonly text: string
  readonly parts: readonly string[]
}

/** The values that the environment sets. Later layers win. */
export interface EnvironmentLayers {
  readonly layers: readonly Tree[]
  readonly problems: readonly string[]
}

/**
 * Reads variables into layers. A variable for a whole object (as JSON) comes before those for its keys.
 *
 * @param above the keys whose content the schema describes; the layers start below them
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

/** Converts the text of one variable to a tree. */
export function textTree(text: string, schema: JsonSchema | undefined, variable: string): Tree {
  const origin: Origin = { kind: 'environment', variable }
  return treeOf(parseText(text, schema), () => origin)
}

/**
 * Reads a text from the environment or the command line as the type that the schema wants. A text that does not fit
 * the type stays text, and validation reports it.
 */
export function parseText(text: string, schema: JsonSchema | undefined): unknown {
  const types = typesOf(schema)
  if (types.size === 1 && types.has('string')) return text
  const value = (isByteSize(schema) ? parseByteSize(text) : undefined) ?? parseJson(text.trim())
  if (value === undefined) return text
  const name = typeName(value)
  const fits = types.size === 0 || types.has(name) || (name === 'number' && types.has('integer'))
  return fits || !types.has('string') ? value : text
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the variables that are set for a section. */
export function variablesOf(section: string, environment: Environment): Variable[] {
  return allVariables(environment).filter(({ parts }) => parts[0] === variableWord(section))
}

/** Returns all variables that set a key, sorted by name. An empty variable counts as not set. */
export function allVariables(environment: Environment): Variable[] {
  return Object.entries(environment)
    .filter(([name]) => name.startsWith(prefix) && !taken.has(name))
    .flatMap(([name, text]) => (text ? [{ name, text, parts: name.slice(prefix.length).split('__') }] : []))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Finds the keys of a schema that the parts of a variable name mean. */
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

/** Returns the name of every variable for the keys of a schema. */
export function variablesOfSchema(keys: readonly string[], schema: JsonSchema): string[] {
  return subschemas(schema).flatMap(({ properties = {} }) =>
    Object.entries(properties).flatMap(([key, child]) => [
      variableName([...keys, key]),
      ...variablesOfSchema([...keys, key], child),
    ]),
  )
}

/** Returns the message about a variable that matches no key. */
export function unknownVariable(variable: string, known: readonly string[]): string {
  return `The variable ${variable} matches no configuration key. ${suggest(variable, known)}`
}
