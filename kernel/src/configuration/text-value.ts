import { type JsonSchema, typeName, typesOf } from './schema-walk.ts'

/**
 * The value that a text from the environment stands for, by the type that the schema wants. Text that cannot be
 * read as that type stays text, and validation says so.
 */
export function parseText(text: string, schema: JsonSchema | undefined): unknown {
  const types = typesOf(schema)
  if (types.size === 1 && types.has('string')) return text
  const value = parseJson(text.trim())
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
