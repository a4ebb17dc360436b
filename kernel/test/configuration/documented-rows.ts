import { variableName } from '../../src/configuration/environment.ts'
import { formatKey } from '../../src/configuration/tree.ts'
import type { JsonSchema } from '../../src/validation/json-schema.ts'

/** Returns the rows that the table of keys in config/README.md must have, one for each key with a value. */
export function documentedRows(properties: object, above: readonly string[] = []): string[] {
  return Object.entries(properties as Record<string, JsonSchema>).flatMap(([key, schema]) => {
    const path = [...above, key]
    if (schema.properties) return documentedRows(schema.properties, path)
    const cells = [code(keyOf(path)), typeCell(schema), defaultCell(schema), variableCell(path)]
    return [`| ${[...cells, schema.description].join(' | ')} |`]
  })
}

function keyOf(path: readonly string[]): string {
  return path[1] === '<id>' ? String(path[2]) : formatKey(path)
}

function typeCell(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.map((value) => code(JSON.stringify(value))).join(', ')
  if (schema.anyOf) return schema.anyOf.map(typeCell).join(' or ')
  if (schema.type === 'array') return `array of ${(schema.items as JsonSchema).type}s`
  const { type, minimum, maximum } = schema
  if (minimum === undefined) return String(type)
  return maximum === undefined ? `${type}, at least ${minimum}` : `${type}, ${minimum} to ${maximum}`
}

function defaultCell(schema: JsonSchema): string {
  return schema.default === undefined ? 'none' : code(JSON.stringify(schema.default))
}

function variableCell(path: readonly string[]): string {
  const name = variableName(path.map((key) => (key === '<id>' ? 'ID' : key)))
  return path.join('.') === 'server.port' ? `${code(name)}, ${code('PORT')}` : code(name)
}

function code(text: string): string {
  return `\`${text}\``
}
