import { secretMark } from '../log/secrets.ts'
import { childSchema, isSecret, type JsonSchema } from '../validation/json-schema.ts'
import { validateClosed } from './resolve.ts'
import { childOf, describeOrigin, formatKey, type Path, plainValue, type Tree } from './tree.ts'

/** A configuration that may be shown. */
export interface PrintedConfiguration {
  /** The values by section, with defaults. Secrets are `[secret]`; `${NAME}` stays as written. */
  readonly values: Readonly<Record<string, unknown>>
  /** The origin of each value, by its key in words: `server.port` → `config/default.json:12`. */
  readonly origins: ReadonlyMap<string, string>
}

/** A merged section. It has no schema when it belongs to a plugin that is not loaded. */
interface PrintableSection {
  readonly tree: Tree
  readonly schema: JsonSchema | undefined
}

/**
 * Prepares sections for printing: fills in defaults and hides secrets.
 *
 * @param data the absolute path that is printed for the section `data`
 */
export function printSections(
  sections: ReadonlyMap<string, PrintableSection>,
  data: string,
): PrintedConfiguration {
  const values: Record<string, unknown> = {}
  const origins = new Map<string, string>()
  for (const [name, { tree, schema }] of sections) {
    const value = name === 'data' ? data : plainValue(tree)
    if (schema && name !== 'data') validateClosed(schema, value)
    values[name] = redact(value, schema)
    addOrigins(origins, values[name], tree, [name])
  }
  return { values, origins }
}

/**
 * Hides secrets, and every text that no schema describes, since it may be a secret. Only a plain `${NAME}` is shown as
 * written.
 */
function redact(value: unknown, schema: JsonSchema | undefined): unknown {
  if (isSecret(schema)) return secretMark
  if (Array.isArray(value)) return value.map((item, index) => redact(item, childSchema(schema, index)))
  if (isObject(value)) {
    const entries = Object.entries(value)
    return Object.fromEntries(entries.map(([key, child]) => [key, redact(child, childSchema(schema, key))]))
  }
  if (typeof value !== 'string' || schema !== undefined) return value
  return /^\$\{\w+\}$/.test(value) ? value : secretMark
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function addOrigins(origins: Map<string, string>, value: unknown, tree: Tree | undefined, path: Path): void {
  if (isObject(value) && !Array.isArray(value)) {
    for (const [key, child] of Object.entries(value)) {
      addOrigins(origins, child, tree && childOf(tree, key), [...path, key])
    }
  } else {
    origins.set(formatKey(path), tree === undefined ? 'default' : describeOrigin(tree.origin))
  }
}

/** Writes the printed configuration as JSON, with the origin of each value as a comment behind it. */
export function formatPrinted({ values, origins }: PrintedConfiguration): string {
  return formatValue(values, [], origins, '')
}

function formatValue(
  value: unknown,
  path: Path,
  origins: ReadonlyMap<string, string>,
  indent: string,
): string {
  if (!isObject(value) || Array.isArray(value)) return JSON.stringify(value)
  const entries = Object.entries(value)
  if (entries.length === 0) return '{}'
  const lines = entries.map(([key, child], index) => {
    const at = [...path, key]
    const origin = origins.get(formatKey(at))
    const comma = index < entries.length - 1 ? ',' : ''
    const comment = origin === undefined ? '' : ` // ${origin}`
    return `${indent}  ${JSON.stringify(key)}: ${formatValue(child, at, origins, `${indent}  `)}${comma}${comment}`
  })
  return `{\n${lines.join('\n')}\n${indent}}`
}
