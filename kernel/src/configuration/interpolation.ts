import type { Environment } from './environment.ts'
import { formatKey } from './key.ts'
import { describeOrigin, type Origin } from './origin.ts'
import { childSchema, type JsonSchema } from './schema-walk.ts'
import { parseText } from './text-value.ts'
import type { Path, Tree } from './tree.ts'

/** `$${` stands for a plain `${`; `${NAME}` and `${NAME:-fallback}` take from the environment. */
const reference = /\$\$\{|\$\{([^}:]*)(?::-([^}]*))?\}|\$\{/g

/**
 * Puts values of the environment where a file's texts name them, and reads these texts, and those of flags, as
 * the schema's types.
 *
 * @param problems takes one line for each key that fails, by the key
 */
export function interpolate(
  tree: Tree,
  schema: JsonSchema | undefined,
  environment: Environment,
  problems: Map<string, string>,
  path: Path = [],
): Tree {
  const below = (child: Tree, key: string | number) =>
    interpolate(child, childSchema(schema, key), environment, problems, [...path, key])
  switch (tree.kind) {
    case 'branch': {
      const entries = [...tree.entries].map(([key, child]) => [key, below(child, key)] as const)
      return { ...tree, entries: new Map(entries) }
    }
    case 'list':
      return { ...tree, items: tree.items.map(below) }
    case 'leaf': {
      if (typeof tree.value !== 'string') return tree
      if (tree.origin.kind === 'flag') return { ...tree, value: parseText(tree.value, schema) }
      if (!isWritten(tree.origin) || !tree.value.includes('${')) return tree
      const key = formatKey(path)
      const report = (problem: string) => {
        problems.set(key, `${key} (${describeOrigin(tree.origin)}) ${problem}`)
      }
      const text = replace(tree.value, environment, report)
      return { ...tree, value: parseText(text, schema) }
    }
  }
}

function isWritten(origin: Origin): boolean {
  return origin.kind === 'file' || origin.kind === 'inline'
}

function replace(text: string, environment: Environment, report: (problem: string) => void): string {
  return text.replace(reference, (whole, name: string | undefined, fallback: string | undefined) => {
    if (whole === '$${') return '${'
    if (name === undefined || !/^[A-Za-z_]\w*$/.test(name)) {
      report(`has a "\${" that names no variable. Write "\${NAME}", or "$\${" for the characters themselves.`)
      return ''
    }
    const value = environment[name] || fallback
    if (value === undefined) {
      report(`takes its value from the variable ${name}, which is not set. Set ${name}, or remove the key.`)
    }
    return value ?? ''
  })
}
