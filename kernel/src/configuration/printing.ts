import { formatKey } from './key.ts'
import { describeOrigin } from './origin.ts'
import { redact } from './redaction.ts'
import type { JsonSchema } from './schema-walk.ts'
import { childOf, type Path, plainValue, type Tree } from './tree.ts'
import type { Validator } from './validator.ts'

/** A configuration that may be shown. */
export interface PrintedConfiguration {
  /** The values by section, defaults included. Secrets are `[secret]`; `${NAME}` stays as written. */
  readonly values: Readonly<Record<string, unknown>>
  /** Where each value comes from, by its key in words: `server.port` → `config/default.json:12`. */
  readonly origins: ReadonlyMap<string, string>
}

/** A section as merged; without a schema it is of a plugin that isn't loaded. */
export interface PrintableSection {
  readonly tree: Tree
  readonly schema: JsonSchema | undefined
}

/** Makes sections fit to be shown. */
export function printSections(
  sections: ReadonlyMap<string, PrintableSection>,
  data: string,
  validator: Validator,
): PrintedConfiguration {
  const values: Record<string, unknown> = {}
  const origins = new Map<string, string>()
  for (const [name, { tree, schema }] of sections) {
    const value = name === 'data' ? data : plainValue(tree)
    if (schema && name !== 'data') validator.validate(schema, value)
    values[name] = redact(value, schema)
    addOrigins(origins, values[name], tree, [name])
  }
  return { values, origins }
}

function addOrigins(origins: Map<string, string>, value: unknown, tree: Tree | undefined, path: Path): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    for (const [key, child] of Object.entries(value)) {
      addOrigins(origins, child, tree && childOf(tree, key), [...path, key])
    }
  } else {
    origins.set(formatKey(path), tree === undefined ? 'default' : describeOrigin(tree.origin))
  }
}

/** The printed configuration as text: JSON with the origin of each value behind it. */
export function formatPrinted({ values, origins }: PrintedConfiguration): string {
  return formatValue(values, [], origins, '')
}

function formatValue(
  value: unknown,
  path: Path,
  origins: ReadonlyMap<string, string>,
  indent: string,
): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
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
