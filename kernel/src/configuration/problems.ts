import type { SchemaError } from '../validation/ajv.ts'
import { type JsonSchema, typesOf } from '../validation/json-schema.ts'
import { describeProblems, missingKey } from '../validation/schema-problems.ts'
import { matchKeys, variableName, variableWord } from './environment.ts'
import { childOf, formatKey, formatPlace, type Origin, originAt, type Path, type Tree } from './tree.ts'

/**
 * Describes the errors of a section, one line each: the key, its origin, the problem, the remedy. Values are never
 * shown, since they may be secret.
 *
 * @param schema the schema that the errors are about
 * @param tree the merged section, which knows the origins
 * @param above the keys above the section's content
 * @param reported lines for keys that failed earlier and get no second line, by the key
 */
export function describeErrors(
  errors: readonly SchemaError[],
  schema: JsonSchema,
  tree: Tree,
  above: readonly string[],
  reported: ReadonlyMap<string, string>,
): string[] {
  const lines = describeProblems(errors).flatMap(({ path: tokens, text, error }) => {
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
  return [...reported.values(), ...lines]
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
  if (origin.kind !== 'environment' || keyword !== 'type') return ''
  const types = typesOf(parentSchema)
  if (types.has('array')) return ' Write it as JSON, such as ["first", "second"].'
  return types.has('object') ? ' Write it as JSON, such as {"key": "value"}.' : ''
}
