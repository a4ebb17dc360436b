import {
  allVariables,
  type Environment,
  unknownVariable,
  variablesOfSchema,
  variableWord,
} from './environment.ts'
import { kernelSchema, reservedNames } from './kernel-schema.ts'
import { formatKey } from './key.ts'
import { describeOrigin } from './origin.ts'
import { type JsonSchema, jsonSchema } from './schema-walk.ts'
import { suggest } from './suggestion.ts'
import type { Tree } from './tree.ts'

/**
 * One line for each top-level key, and each variable, that belongs to no section.
 *
 * @param sections names of the plugins' sections
 * @param schemas the schemas of those that are loaded
 * @param moved ids of plugins whose section has another name, each with that name
 */
export function unknownSections(
  tree: Tree,
  environment: Environment,
  sections: readonly string[],
  schemas: ReadonlyMap<string, JsonSchema>,
  moved: ReadonlyMap<string, string>,
): string[] {
  const own = Object.keys(kernelSchema.properties)
  const known = [...new Set([...own, ...sections])]
  const problems: string[] = []
  for (const [name, { origin }] of tree.kind === 'branch' ? tree.entries : []) {
    if (known.includes(name) || name === 'extends' || name === '$schema') continue
    const where = `${formatKey([name])} (${describeOrigin(origin)})`
    const section = moved.get(name)
    const advice =
      section === undefined
        ? `${suggest(name, known)} ${hint(name)}`.trimEnd()
        : `The plugin "${name}" reads the section "${section}".`
    problems.push(`${where} is not a known section. ${advice}`)
  }
  const words = new Set(known.map(variableWord))
  const variables = [
    ...variablesOfSchema([], jsonSchema(kernelSchema)),
    ...[...schemas].flatMap(([name, schema]) => variablesOfSchema([name], schema)),
  ]
  for (const { name, parts } of allVariables(environment)) {
    if (!words.has(parts[0] ?? '')) problems.push(unknownVariable(name, variables))
  }
  return problems
}

function hint(name: string): string {
  return reservedNames.has(name) ? '' : 'A plugin\'s section needs the plugin in "plugins".'
}
