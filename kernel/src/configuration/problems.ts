import { withoutAlternatives } from './alternatives.ts'
import { matchKeys, variableName, variableWord } from './environment.ts'
import { formats } from './formats.ts'
import { formatKey, parsePointer } from './key.ts'
import { describeOrigin } from './origin.ts'
import { declaredKeys, type JsonSchema, typeName, typesOf } from './schema-walk.ts'
import { suggest } from './suggestion.ts'
import { childOf, originAt, type Path, type Tree } from './tree.ts'
import type { SchemaError } from './validator.ts'

/**
 * One line for each thing that is wrong: the key, where it stands, what is wrong, what to do. Values are never
 * shown, since they may be secret.
 *
 * @param schema what the errors are against
 * @param tree the section as merged, which knows where its parts stand
 * @param above the keys above the section's content
 * @param reported lines for keys that failed before and aren't looked at again, by the key
 */
export function describeErrors(
  errors: readonly SchemaError[],
  schema: JsonSchema,
  tree: Tree,
  above: readonly string[],
  reported: ReadonlyMap<string, string>,
): string[] {
  const lines = withoutAlternatives(errors).flatMap((error) => {
    const path = pathOf(error, tree)
    const key = formatKey([...above, ...path])
    if (reported.has(key)) return []
    if (error.keyword === 'required') return [`${key} is missing. ${howToSet(path, schema, tree, above)}`]
    const origin = originAt(tree, path)
    const hint =
      origin.kind === 'environment' && error.keyword === 'type' ? howToWrite(error.parentSchema) : ''
    return [`${key} (${describeOrigin(origin)}) ${complaint(error)}${hint}`]
  })
  return [...reported.values(), ...lines]
}

/** Where the error is: at the key itself, also for one that is missing or too many. */
function pathOf(error: SchemaError, tree: Tree): Path {
  const path = keysOf(error.instancePath, tree)
  if (error.keyword === 'required') return [...path, String(error.params.missingProperty)]
  if (error.keyword === 'additionalProperties') return [...path, String(error.params.additionalProperty)]
  return path
}

function keysOf(pointer: string, tree: Tree): Path {
  let current: Tree | undefined = tree
  return parsePointer(pointer).map((token) => {
    const key = current?.kind === 'list' ? Number(token) : token
    current = current && childOf(current, key)
    return key
  })
}

function complaint(error: SchemaError): string {
  const { params, parentSchema: schema } = error
  switch (error.keyword) {
    case 'additionalProperties':
      return `is not a known key. ${suggest(String(params.additionalProperty), declaredKeys(schema))}`
    case 'type':
      return `must be ${typeWords(typesOf(schema))}, but is ${typeWords([typeName(error.data)])}.`
    case 'enum':
      return `must be one of ${list(schema?.enum ?? [])}.`
    case 'const':
      return `must be ${JSON.stringify(schema?.const)}.`
    case 'anyOf':
    case 'oneOf':
      return `must be ${alternatives(schema)}.`
    case 'minimum':
    case 'maximum':
      return `must be ${bounds(schema)}.`
    case 'minLength':
      return params.limit === 1 ? 'must not be empty.' : `must have at least ${params.limit} characters.`
    case 'maxLength':
      return `must have at most ${params.limit} characters.`
    case 'pattern':
      return `must match the pattern ${params.pattern}.`
    case 'format':
      return `must be ${formats[String(params.format)]?.meaning ?? `a valid ${params.format}`}.`
    default:
      return `${error.message ?? `fails "${error.keyword}"`}.`
  }
}

function alternatives(schema: JsonSchema | undefined): string {
  const options = [...(schema?.anyOf ?? []), ...(schema?.oneOf ?? [])]
  const constants = options.map((option) => option.const)
  if (!constants.includes(undefined)) return `one of ${list(constants)}`
  return options.map(form).join(' or ')
}

function form(option: JsonSchema): string {
  const keys = declaredKeys(option)
  const type = typeWords(typesOf(option)) || 'of another form'
  return keys.length === 0 ? type : `${type} with ${list(keys)}`
}

function bounds({ minimum, maximum }: JsonSchema = {}): string {
  if (minimum !== undefined && maximum !== undefined) return `between ${minimum} and ${maximum}`
  return minimum !== undefined ? `at least ${minimum}` : `at most ${maximum}`
}

function howToSet(path: Path, schema: JsonSchema, tree: Tree, above: readonly string[]): string {
  const file = tree.origin.kind === 'file' ? tree.origin.label : 'the configuration file'
  const keys = path.map(String)
  while (matchKeys(schema, keys.map(variableWord)) === null) keys.pop()
  const variable = variableName([...above, ...keys])
  const form = keys.length < path.length ? ' as JSON' : ''
  return `Set it in ${file}, or the variable ${variable}${form}.`
}

function howToWrite(schema: JsonSchema | undefined): string {
  const types = typesOf(schema)
  if (types.has('array')) return ' Write it as JSON, such as ["first", "second"].'
  return types.has('object') ? ' Write it as JSON, such as {"key": "value"}.' : ''
}

const words: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

function typeWords(types: Iterable<string>): string {
  return [...types].map((type) => words[type] ?? type).join(' or ')
}

function list(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ')
}
