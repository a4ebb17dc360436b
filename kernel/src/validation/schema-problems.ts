import { checkKeyword } from '@nodekeep/plugin-sdk/host'
import type { SchemaError } from './ajv.ts'
import { formats } from './formats.ts'
import { declaredKeys, type JsonSchema, typeName, typesOf } from './json-schema.ts'
import { suggest } from './suggestion.ts'

/** One thing that is wrong with a value. */
interface SchemaProblem {
  /** The keys down to the problem. For a missing or an unknown key, the path ends with that key. */
  readonly path: readonly string[]
  /**
   * The rest of a sentence whose subject is the key: `must be at least 1.` It never shows the value, which may be
   * secret.
   */
  readonly text: string
  readonly error: SchemaError
}

/**
 * Translates the errors of a validation into sentences for people, for configuration and requests alike.
 *
 * A validator that a plugin brought may leave out all fields but `message`.
 */
export function describeProblems(errors: readonly SchemaError[]): SchemaProblem[] {
  return withoutAlternatives(errors).map((error) => ({ path: pathOf(error), text: complaint(error), error }))
}

/**
 * Ajv reports the errors of every alternative of an `anyOf` or `oneOf`. This keeps the errors of the alternative that
 * was meant or, when that is not clear, the error of the alternatives as a whole.
 */
function withoutAlternatives(errors: readonly SchemaError[]): SchemaError[] {
  const dropped = new Set<SchemaError>()
  for (const whole of errors) {
    if (whole.keyword !== 'anyOf' && whole.keyword !== 'oneOf') continue
    const inner = errors.filter(({ schemaPath = '' }) => schemaPath.startsWith(`${whole.schemaPath}/`))
    const kept = meant(whole, inner)
    for (const error of [whole, ...inner]) if (!kept.includes(error)) dropped.add(error)
  }
  return errors.filter((error) => !dropped.has(error))
}

/** Returns the errors of the alternative that is closest to the value: of its type, with the fewest errors. */
function meant(whole: SchemaError, inner: readonly SchemaError[]): readonly SchemaError[] {
  if (whole.params.passingSchemas) return [whole]
  const alternatives = Map.groupBy(
    inner,
    (error) => error.schemaPath.slice(whole.schemaPath.length).split('/')[1],
  )
  const [first, second] = [...alternatives.values()]
    .filter((group) => !group.some((error) => isOtherForm(error, whole)))
    .sort((a, b) => a.length - b.length)
  return first && first.length !== second?.length ? first : [whole]
}

/** Tells whether an error says that the value, or a key that tells alternatives apart, has another form. */
function isOtherForm({ keyword, instancePath }: SchemaError, whole: SchemaError): boolean {
  const depth = instancePath.slice(whole.instancePath.length).split('/').length - 1
  return keyword === 'type' ? depth === 0 : ['const', 'enum'].includes(keyword) && depth <= 1
}

function pathOf(error: SchemaError): string[] {
  const path = parsePointer(error.instancePath ?? '')
  const key = missingKey(error) ?? unknownKey(error)
  return key === undefined ? path : [...path, key]
}

/** Returns the key that a value lacks, where the error is about that. */
export function missingKey({ keyword, params }: SchemaError): string | undefined {
  return keyword === 'required' ? (params?.missingProperty as string | undefined) : undefined
}

function unknownKey({ keyword, params }: SchemaError): string | undefined {
  return keyword === 'additionalProperties' ? (params?.additionalProperty as string | undefined) : undefined
}

/** Returns the keys that a JSON pointer names (RFC 6901). */
function parsePointer(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function complaint(error: SchemaError): string {
  if (missingKey(error) !== undefined) return 'is missing.'
  const { keyword, params = {}, parentSchema: schema, data, message } = error
  const unknown = unknownKey(error)
  if (unknown !== undefined) return `is not a known key. ${suggest(unknown, declaredKeys(schema))}`
  switch (keyword) {
    case 'type':
      return `must be ${typeWords(typesOf(schema ?? { type: params.type as string }))}, but is ${typeWords([typeName(data)])}.`
    case 'enum':
      return `must be one of ${list(schema?.enum ?? (params.allowedValues as unknown[]))}.`
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}.`
    case 'anyOf':
    case 'oneOf':
      return `must be ${alternatives(schema)}.`
    case 'minimum':
    case 'maximum':
      return `must be ${bounds(schema ?? { [keyword]: params.limit })}.`
    case 'exclusiveMinimum':
      return `must be more than ${params.limit}.`
    case 'exclusiveMaximum':
      return `must be less than ${params.limit}.`
    case 'minLength':
      return params.limit === 1 ? 'must not be empty.' : `must have at least ${params.limit} characters.`
    case 'maxLength':
      return `must have at most ${params.limit} characters.`
    case 'minItems':
      return params.limit === 1 ? 'must not be empty.' : `must have at least ${params.limit} items.`
    case 'maxItems':
      return `must have at most ${params.limit} items.`
    case 'pattern':
      return `must match the pattern ${params.pattern}.`
    case 'format':
      return `must be ${formats[String(params.format)]?.meaning ?? `a valid ${params.format}`}.`
    case checkKeyword:
      return message ?? 'is not valid.'
    default:
      return `${message ?? 'is not valid'}.`
  }
}

function alternatives(schema: JsonSchema | undefined): string {
  const options = [...(schema?.anyOf ?? []), ...(schema?.oneOf ?? [])]
  if (options.length === 0) return 'of another form'
  const constants = options.map((option) => option.const)
  if (!constants.includes(undefined)) return `one of ${list(constants)}`
  return options.map(form).join(' or ')
}

function form(option: JsonSchema): string {
  const keys = declaredKeys(option)
  const type = typeWords(typesOf(option)) || 'of another form'
  return keys.length === 0 ? type : `${type} with ${list(keys)}`
}

function bounds({ minimum, maximum }: JsonSchema): string {
  if (minimum !== undefined && maximum !== undefined) return `between ${minimum} and ${maximum}`
  return minimum !== undefined ? `at least ${minimum}` : `at most ${maximum}`
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
