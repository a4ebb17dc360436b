import type { ValidateFunction } from 'ajv'
import { createAjv, type SchemaError } from '../validation/ajv.ts'
import { isByteSize, type JsonSchema, typesOf } from '../validation/json-schema.ts'
import { describeProblems, missingKey } from '../validation/schema-problems.ts'
import { closeSchema } from './closed-schema.ts'
import { type Environment, matchKeys, variableName, variableWord } from './environment.ts'
import { interpolate } from './interpolation.ts'
import { forbiddenKeys } from './layers.ts'
import {
  childOf,
  formatKey,
  formatPlace,
  type Origin,
  originAt,
  type Path,
  plainValue,
  type Tree,
} from './tree.ts'

/** The value of a merged tree, and one line for each problem of it. With problems, the value is not valid. */
interface ResolvedTree {
  readonly value: unknown
  readonly problems: readonly string[]
}

/**
 * Resolves a merged tree to the value that the node uses: with variables inserted, with defaults, and validated. Unknown keys
 * are problems. A line about a problem has the key, its origin, the problem and the remedy. It never shows the value, which
 * may be secret.
 *
 * @param above the keys above the tree's content
 * @param reported lines for keys that failed before and get no second line, by the key
 * @throws Error when the schema itself is wrong
 */
export function resolveTree(
  tree: Tree,
  schema: JsonSchema,
  environment: Environment,
  above: readonly string[],
  reported = new Map<string, string>(),
): ResolvedTree {
  const value = plainValue(interpolate(tree, schema, environment, reported, above))
  const check = compiled(schema)
  const problems = [...forbiddenKeys(tree, above), ...reported.values()]
  if (check(value)) return { value, problems }
  const errors = describeErrors((check.errors ?? []) as SchemaError[], schema, tree, above, reported)
  return { value, problems: [...problems, ...errors] }
}

/** Fills a value with the schema's defaults, in place. The value may be invalid. */
export function fillDefaults(schema: JsonSchema, value: unknown): void {
  compiled(schema)(value)
}

const ajv = createAjv({
  allErrors: true,
  addUsedSchema: false,
  // Optimizing the code of a schema takes longer than validating one configuration with it.
  code: { optimize: false },
})

const known = new WeakMap<JsonSchema, ValidateFunction>()

function compiled(schema: JsonSchema): ValidateFunction {
  const check = known.get(schema) ?? ajv.compile(closeSchema(schema))
  known.set(schema, check)
  return check
}

function describeErrors(
  errors: readonly SchemaError[],
  schema: JsonSchema,
  tree: Tree,
  above: readonly string[],
  reported: ReadonlyMap<string, string>,
): string[] {
  return describeProblems(errors).flatMap(({ path: tokens, text, error }) => {
    const path = withIndexes(tokens, tree)
    const whole = [...above, ...path]
    const key = formatKey(whole)
    if (reported.has(key)) return []
    if (missingKey(error) !== undefined) return [`${key} ${text} ${howToSet(path, schema, tree, above)}`]
    const origin = originAt(tree, path)
    const blame =
      origin.kind === 'default' ? " The plugin's own default is wrong: report it to its author." : ''
    return [`${formatPlace(whole, origin)} ${text}${howToWrite(error, origin)}${blame}`]
  })
}

function withIndexes(tokens: readonly string[], tree: Tree): Path {
  let current: Tree | undefined = tree
  return tokens.map((token) => {
    const key = current?.kind === 'list' ? Number(token) : token
    current = current && childOf(current, key)
    return key
  })
}

function howToSet(path: Path, schema: JsonSchema, tree: Tree, above: readonly string[]): string {
  const file = tree.origin.kind === 'file' ? tree.origin.label : 'the configuration file'
  const keys = path.map(String)
  while (matchKeys(schema, keys.map(variableWord)) === null) keys.pop()
  const variable = variableName([...above, ...keys])
  const form = keys.length < path.length ? ' as JSON' : ''
  return `Set it in ${file}, or the variable ${variable}${form}.`
}

function howToWrite({ keyword, parentSchema }: SchemaError, origin: Origin): string {
  if (keyword === 'type' && isByteSize(parentSchema))
    return ' Write the number of bytes, or a size such as "8GB" or "512MiB".'
  if (origin.kind !== 'environment' || keyword !== 'type') return ''
  const types = typesOf(parentSchema)
  if (types.has('array')) return ' Write it as JSON, such as ["first", "second"].'
  return types.has('object') ? ' Write it as JSON, such as {"key": "value"}.' : ''
}
