import { byteSizeKeyword, filePathKeyword, secretKeyword } from '@nodekeep/plugin-sdk/host'
import type { TSchema } from 'typebox'

/** The keywords of a JSON Schema that the kernel reads itself. TypeBox schemas have this form. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema | readonly JsonSchema[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly required?: readonly string[]
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly description?: string
}

/** Returns a TypeBox schema as the JSON Schema that it is. */
export function jsonSchema(schema: TSchema): JsonSchema {
  return schema as JsonSchema
}

/** Returns the schema itself, then its alternatives and parts at any depth. */
export function subschemas(schema: JsonSchema): JsonSchema[] {
  const nested = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]
  return [schema, ...nested.filter((one) => typeof one === 'object').flatMap(subschemas)]
}

/** Returns a copy of a schema in which `map` has replaced the schemas directly below it. The schemas `true` and `false` stay. */
export function mapSubschemas(
  schema: JsonSchema,
  map: (child: JsonSchema, keyword: string) => JsonSchema,
): Record<string, unknown> {
  const mapped: Record<string, unknown> = { ...schema }
  const mapOne = (child: JsonSchema | boolean, keyword: string) =>
    typeof child === 'boolean' ? child : map(child, keyword)
  for (const keyword of ['properties', 'patternProperties', '$defs', 'definitions']) {
    const children = Object.entries((schema[keyword] ?? {}) as Record<string, JsonSchema>)
    if (keyword in schema)
      mapped[keyword] = Object.fromEntries(children.map(([key, child]) => [key, mapOne(child, keyword)]))
  }
  for (const keyword of ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items', 'additionalProperties']) {
    const below = schema[keyword] as JsonSchema | readonly JsonSchema[] | boolean | undefined
    if (Array.isArray(below)) mapped[keyword] = below.map((child) => mapOne(child, keyword))
    else if (typeof below === 'object') mapped[keyword] = map(below as JsonSchema, keyword)
  }
  return mapped
}

/** Returns the schema of a key or an index, or `undefined` when the schema does not describe it. */
export function childSchema(schema: JsonSchema | undefined, key: string | number): JsonSchema | undefined {
  if (schema === undefined) return undefined
  for (const branch of subschemas(schema)) {
    const child = typeof key === 'number' ? itemSchema(branch, key) : propertySchema(branch, key)
    // The schemas `true` and `false` describe nothing.
    if (typeof child === 'object') return child
  }
  return undefined
}

function itemSchema({ items }: JsonSchema, index: number): JsonSchema | undefined {
  return Array.isArray(items) ? items[index] : (items as JsonSchema | undefined)
}

function propertySchema(schema: JsonSchema, key: string): JsonSchema | undefined {
  if (schema.properties && Object.hasOwn(schema.properties, key)) return schema.properties[key]
  for (const [pattern, child] of Object.entries(schema.patternProperties ?? {})) {
    if (new RegExp(pattern, 'u').test(key)) return child
  }
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
}

/** Returns the names of the keys that a schema declares. */
export function declaredKeys(schema: JsonSchema | undefined): string[] {
  return schema ? subschemas(schema).flatMap((branch) => Object.keys(branch.properties ?? {})) : []
}

/** Returns the JSON types that a schema accepts. The set is empty when the schema names none. */
export function typesOf(schema: JsonSchema | undefined): Set<string> {
  const found = new Set<string>()
  for (const { type, const: constant, enum: values } of schema ? subschemas(schema) : []) {
    for (const name of typeof type === 'string' ? [type] : (type ?? [])) found.add(name)
    if (constant !== undefined) found.add(typeName(constant))
    for (const value of values ?? []) found.add(typeName(value))
  }
  return found
}

/** Returns the JSON type of a value: `null`, `array`, `object`, `string`, `number` or `boolean`. */
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Tells whether a schema marks its value as secret. A `$ref` is not followed, so it counts as secret. */
export function isSecret(schema: JsonSchema | undefined): boolean {
  return (
    schema !== undefined && subschemas(schema).some((one) => one[secretKeyword] === true || '$ref' in one)
  )
}

/** Tells whether a schema marks its value as a number of bytes. */
export function isByteSize(schema: JsonSchema | undefined): boolean {
  return schema !== undefined && subschemas(schema).some((one) => one[byteSizeKeyword] === true)
}

/** Tells whether a schema marks its value as the path of a file or a folder. */
export function isFilePath(schema: JsonSchema | undefined): boolean {
  return schema !== undefined && subschemas(schema).some((one) => one[filePathKeyword] === true)
}

/** Returns the texts of a value that a schema marks as secret. */
export function secretsIn(value: unknown, schema: JsonSchema | undefined, above = false): string[] {
  const secret = above || isSecret(schema)
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => secretsIn(item, childSchema(schema, index), secret))
  }
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([key, child]) => secretsIn(child, childSchema(schema, key), secret))
  }
  return secret && value !== null && value !== undefined && value !== '' ? [String(value)] : []
}
