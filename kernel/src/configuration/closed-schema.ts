import type { JsonSchema } from '../validation/json-schema.ts'

/**
 * Returns a schema in the strict form that the configuration validates. An object that declares its keys accepts no
 * other keys, unless its schema allows them. A required object may be left out when its defaults can fill it.
 *
 * Parts of an `allOf` stay open, since each of them describes only a part of the same object.
 */
export function closeSchema(schema: JsonSchema, part = false): JsonSchema {
  const closed: Record<string, unknown> = { ...schema }
  for (const name of ['properties', 'patternProperties', '$defs', 'definitions']) {
    if (isRecord(schema[name])) closed[name] = mapValues(schema[name], (child) => closeSchema(child))
  }
  for (const name of ['anyOf', 'oneOf', 'prefixItems']) {
    if (Array.isArray(schema[name])) closed[name] = schema[name].map((child) => closeSchema(child, part))
  }
  if (schema.allOf) closed.allOf = schema.allOf.map((child) => closeSchema(child, true))
  if (Array.isArray(schema.items)) closed.items = schema.items.map((child) => closeSchema(child))
  else if (isRecord(schema.items)) closed.items = closeSchema(schema.items)
  if (isRecord(schema.additionalProperties)) {
    closed.additionalProperties = closeSchema(schema.additionalProperties)
  }
  if (schema.properties && schema.additionalProperties === undefined && !schema.allOf && !part) {
    closed.additionalProperties = false
  }
  if (schema.properties) closed.properties = withDefaults(closed as JsonSchema)
  return closed
}

function withDefaults({ properties = {}, required = [] }: JsonSchema): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([key, child]) => {
      const fill = required.includes(key) && child.default === undefined && isFilledByDefaults(child)
      return [key, fill ? { ...child, default: {} } : child]
    }),
  )
}

function isFilledByDefaults({ type, properties = {}, required = [] }: JsonSchema): boolean {
  return type === 'object' && required.every((key) => properties[key]?.default !== undefined)
}

function mapValues(record: Record<string, JsonSchema>, map: (schema: JsonSchema) => JsonSchema) {
  return Object.fromEntries(Object.entries(record).map(([key, child]) => [key, map(child)]))
}

function isRecord(value: unknown): value is Record<string, JsonSchema> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
