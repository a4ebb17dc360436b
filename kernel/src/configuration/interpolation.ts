import { childSchema, isByteSize, type JsonSchema } from '../validation/json-schema.ts'
import { type Environment, parseText } from './environment.ts'
import { formatKey, formatPlace, type Path, type Tree } from './tree.ts'

/** `$${` is a literal `${`. `${NAME}` and `${NAME:-fallback}` insert a variable of the environment. */
const reference = /\$\$\{|\$\{([^}:]*)(?::-([^}]*))?\}|\$\{/g

/**
 * Replaces references to environment variables in the texts of files, then reads these texts, and those of flags, as
 * the types that the schema wants.
 *
 * @param problems collects one line for each key that fails, by the key
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
      if (!['file', 'inline'].includes(tree.origin.kind)) return tree
      if (!tree.value.includes('${'))
        return isByteSize(schema) ? { ...tree, value: parseText(tree.value, schema) } : tree
      const report = (problem: string) => {
        problems.set(formatKey(path), `${formatPlace(path, tree.origin)} ${problem}`)
      }
      const text = replace(tree.value, environment, report)
      return { ...tree, value: parseText(text, schema) }
    }
  }
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
