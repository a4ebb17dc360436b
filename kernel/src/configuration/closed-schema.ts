import { type JsonSchema, mapSubschemas } from '../validation/json-schema.ts'

/**
 * Returns a schema in the strict form that the configuration validates. An object that declares its keys accepts no
 * other keys, unless its schema allows them. A required object may be left out when its defaults can fill it.
 *
 * Parts of an `allOf` stay open, since each of them describes only a part of the same object.
 */
export function closeSchema(schema: JsonSchema, part = false): JsonSchema {
  const closed = mapSubschemas(schema, (child, keyword) =>
    closeSchema(child, keyword === 'allOf' || (part && ['anyOf', 'oneOf', 'prefixItems'].includes(keyword))),
  )
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
