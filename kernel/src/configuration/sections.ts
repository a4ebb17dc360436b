import { type JsonSchema, jsonSchema } from '../validation/json-schema.ts'
import { suggest } from '../validation/suggestion.ts'
import {
  allVariables,
  type Environment,
  unknownVariable,
  variablesOfSchema,
  variableWord,
} from './environment.ts'
import { refuse } from './error.ts'
import { kernelSchema, reservedNames } from './kernel-schema.ts'
import { formatPlace, type Tree } from './tree.ts'

/** A plugin, and the section of the configuration that it reads. */
export interface SectionClaim {
  /** The plugin's id. */
  readonly plugin: string
  readonly section: string
}

/**
 * Refuses two claims on one section, and claims on sections of the kernel.
 *
 * @throws ConfigurationError with one line for each section
 */
export function checkSectionClaims(claims: Iterable<SectionClaim>): void {
  const problems: string[] = []
  for (const [section, claimants] of Map.groupBy(claims, (claim) => claim.section)) {
    const names = claimants.map(({ plugin }) => `"${plugin}"`)
    const claim =
      names.length === 1 ? `The plugin ${names[0]} claims` : `The plugins ${names.join(' and ')} claim`
    if (reservedNames.has(section)) {
      problems.push(
        `${claim} the section "${section}", which is the kernel's. Remove the plugin from "plugins".`,
      )
    } else if (names.length > 1) {
      problems.push(`${claim} the same section "${section}". Keep one of them in "plugins".`)
    }
  }
  refuse(problems)
}

/**
 * Refuses top-level keys and variables that belong to no section.
 *
 * @param ids the ids of the named plugins; each has a section of this name, unless its claim names another one
 * @param schemas the schemas of the sections of loaded plugins
 * @throws ConfigurationError with one line for each
 */
export function refuseUnknownSections(
  tree: Tree,
  environment: Environment,
  ids: readonly string[],
  claims: readonly SectionClaim[],
  schemas: ReadonlyMap<string, JsonSchema>,
): void {
  const claimed = new Set(claims.map(({ section }) => section))
  const moved = new Map(
    claims.filter(({ plugin }) => !claimed.has(plugin)).map(({ plugin, section }) => [plugin, section]),
  )
  const kernelNames = Object.keys(kernelSchema.properties)
  const known = [
    ...new Set([...kernelNames, ...claimed, ...schemas.keys(), ...ids.filter((id) => !moved.has(id))]),
  ]
  const problems: string[] = []
  for (const [name, { origin }] of tree.kind === 'branch' ? tree.entries : []) {
    if (known.includes(name) || name === 'extends' || name === '$schema') continue
    const where = formatPlace([name], origin)
    const section = moved.get(name)
    const advice =
      section === undefined
        ? `${suggest(name, known)} ${reservedNames.has(name) ? '' : 'A plugin\'s section needs the plugin in "plugins".'}`.trimEnd()
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
  refuse(problems)
}
