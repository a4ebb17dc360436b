import { childSchema, isSecret, type JsonSchema } from './schema-walk.ts'

/** What is printed in place of a secret. */
export const redacted = '[secret]'

/**
 * A value as it may be shown. Secrets are hidden, and so is every text that no schema describes, since nobody
 * says whether it is one; only a plain `${NAME}` shows as written.
 */
export function redact(value: unknown, schema: JsonSchema | undefined): unknown {
  if (isSecret(schema)) return redacted
  if (Array.isArray(value)) return value.map((item, index) => redact(item, childSchema(schema, index)))
  if (isObject(value)) {
    const entries = Object.entries(value)
    return Object.fromEntries(entries.map(([key, child]) => [key, redact(child, childSchema(schema, key))]))
  }
  if (typeof value !== 'string' || schema !== undefined) return value
  return /^\$\{\w+\}$/.test(value) ? value : redacted
}

/** The texts of a value that a schema marks as secret. */
export function secretsIn(value: unknown, schema: JsonSchema | undefined, above = false): string[] {
  const secret = above || isSecret(schema)
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => secretsIn(item, childSchema(schema, index), secret))
  }
  if (isObject(value)) {
    return Object.entries(value).flatMap(([key, child]) => secretsIn(child, childSchema(schema, key), secret))
  }
  return secret && value !== null && value !== undefined && value !== '' ? [String(value)] : []
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
